// expect: trireme: the extents of Input are at least 1, not 0
#include "trireme/layers/input.hpp"

#ifdef TRIREME_MUST_FAIL
constexpr std::size_t extent = 0;
#else
constexpr std::size_t extent = 1;
#endif

int main() { return trireme::Input<3, extent>{}.extents.size() == 3 ? 0 : 1; }
