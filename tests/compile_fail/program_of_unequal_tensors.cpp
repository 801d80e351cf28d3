// expect: trireme: an operation of a program was given tensors whose extents differ
#include "trireme/pjrt/lowering/builder.hpp"

using namespace trireme;

int main() {
  lowering::Builder b;
  auto const x = b.argument<float>(Extents<dynamic, 3>{{8, 3}});
#ifdef TRIREME_MUST_FAIL
  auto const w = b.argument<float>(Extents<4, 2>{});
#else
  auto const w = b.argument<float>(Extents<3, 2>{});
#endif
  b.result(b.product(x, w));
  return b.finish().text.empty() ? 1 : 0;
}
