/// The class that a prediction stands for, and the number of classes that it ranks above a given one.
#pragma once

#include <cstddef>
#include <type_traits>

#include <Kokkos_MathematicalFunctions.hpp>
#include <Kokkos_NumericTraits.hpp>

namespace trireme {

namespace detail {

/// No number is less.
template <class T>
KOKKOS_INLINE_FUNCTION constexpr T least() {
  if constexpr (std::is_floating_point_v<T>)
    return -Kokkos::Experimental::infinity_v<T>;
  else
    return Kokkos::Experimental::finite_min_v<T>;
}

}  // namespace detail

/// Index of the largest number, the first of several; NaN is as small as any.
template <class T>
KOKKOS_INLINE_FUNCTION std::size_t arg_max(T const* x, std::size_t size) {
  std::size_t best = 0;
  T largest = detail::least<T>();
  for (std::size_t i = 0; i < size; ++i) {
    if (!(x[i] > largest)) continue;
    largest = x[i];
    best = i;
  }
  return best;
}

/// True if fewer than k numbers are larger than x[index], so that a tie with the k-th counts as inside. False if the
/// index is outside or a number is not finite.
template <class T>
KOKKOS_INLINE_FUNCTION bool is_in_top_k(T const* x, std::size_t size, std::size_t index, std::size_t k) {
  if (index >= size) return false;
  std::size_t larger = 0;
  for (std::size_t i = 0; i < size; ++i) {
    if (!Kokkos::isfinite(x[i])) return false;
    larger += x[i] > x[index] ? 1 : 0;
  }
  return larger < k;
}

}  // namespace trireme
