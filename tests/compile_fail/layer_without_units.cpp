// expect: trireme: Dense has at least one unit, not 0
#include "trireme/layers/dense.hpp"

#ifdef TRIREME_MUST_FAIL
constexpr std::size_t units = 0;
#else
constexpr std::size_t units = 1;
#endif

int main() { return trireme::Dense<units>{}.output(trireme::Extents<3>{}).size() == units ? 0 : 1; }
