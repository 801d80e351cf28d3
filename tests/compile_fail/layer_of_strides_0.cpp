// expect: trireme: the strides of a layer are at least 1 x 1, not 0
#include "trireme/layers/pooling2d.hpp"

#ifdef TRIREME_MUST_FAIL
constexpr std::size_t stride = 0;
#else
constexpr std::size_t stride = 1;
#endif

int main() {
  trireme::MaxPooling2D<2, 2, trireme::Strides<stride, 1>> const pooling;
  return pooling.output(trireme::Extents<4, 4, 1>{}).size() > 0 ? 0 : 1;
}
