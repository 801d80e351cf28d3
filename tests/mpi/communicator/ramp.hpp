// Arrays whose sums over ranks are known, and communicators to take them apart.
#pragma once

#include <cstddef>
#include <vector>

#include "support/kokkos_fixture.hpp"

namespace trireme::test {

inline Communicator const& world() { return environment().world(); }
/// One that takes at most three elements a call, to test arrays beyond INT_MAX elements in small.
inline Communicator chopped() { return Communicator(world().get(), 3); }

inline std::vector<double> ramp(std::size_t n) {
  std::vector<double> values(n);
  for (std::size_t i = 0; i < n; ++i) values[i] = static_cast<double>(i + 100 * world().rank());
  return values;
}
inline double ramp_sum(std::size_t i) {
  std::size_t const size = world().size();
  return static_cast<double>(size * i + 100 * (size * (size - 1) / 2));
}

}  // namespace trireme::test
