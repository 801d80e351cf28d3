/// Probabilities that are kept away from 0 and 1, as all losses do that take their logarithm.
#pragma once

#include <cstddef>

#include <Kokkos_MathematicalFunctions.hpp>

#include "trireme/backend/simd/math.hpp"

namespace trireme {

/// Keras's epsilon: probabilities below it and above 1 minus it are clipped, and have no gradient then.
inline constexpr double probability_epsilon = 1e-7;

/// The probability, clipped to [probability_epsilon, 1 - probability_epsilon]. A NaN stays a NaN.
template <class T>
KOKKOS_INLINE_FUNCTION T clip_probability(T p) {
  T const low = static_cast<T>(probability_epsilon), high = static_cast<T>(1 - probability_epsilon);
  return math::where(p < low, low, math::where(p > high, high, p));
}

/// True if the probability is not clipped; false for a NaN too, which the value of the loss shows.
template <class T>
KOKKOS_INLINE_FUNCTION auto is_free_probability(T p) {
  return p >= static_cast<T>(probability_epsilon) && p <= static_cast<T>(1 - probability_epsilon);
}

/// The largest of n numbers.
template <class T>
KOKKOS_INLINE_FUNCTION T largest_of(T const* x, std::size_t n) {
  T largest = x[0];
  for (std::size_t i = 1; i < n; ++i) largest = x[i] > largest ? x[i] : largest;
  return largest;
}

/// log(sum of exp(x)), without overflow.
template <class T>
KOKKOS_INLINE_FUNCTION T log_sum_exp(T const* x, std::size_t n) {
  T const largest = largest_of(x, n);
  T sum = 0;
  for (std::size_t i = 0; i < n; ++i) sum += math::exp(x[i] - largest);
  return largest + Kokkos::log(sum);
}

}  // namespace trireme
