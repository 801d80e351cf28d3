/// Maximum and minimum of two numbers, whose result does not depend on their order.
#pragma once

#include <cmath>
#include <concepts>
#include <limits>

namespace trireme::detail {

enum class Extremum { smallest, largest };

/// A NaN gives NaN, and -0 is less than +0.
template <Extremum which, class T>
T extremum(T a, T b) {
  if constexpr (std::floating_point<T>) {
    if (std::isnan(a) || std::isnan(b)) return std::numeric_limits<T>::quiet_NaN();
    if (a == b) return std::signbit(a) == (which == Extremum::smallest) ? a : b;
  }
  return (a < b) == (which == Extremum::smallest) ? a : b;
}

}  // namespace trireme::detail
