/// Sums along a row, in an order that vectorises and does not depend on the compiler's choices.
#pragma once

#include <cstddef>

#include <Kokkos_Macros.hpp>

namespace trireme {

/// The sum of term(j) for j < n: sixteen partial sums, each over every sixteenth term, then added up in pairs.
template <class T, class Term>
KOKKOS_INLINE_FUNCTION T row_sum(std::size_t n, Term const& term) {
  constexpr std::size_t width = 16;
  T partial[width] = {};
  std::size_t j = 0;
  for (; j + width <= n; j += width)
    for (std::size_t k = 0; k < width; ++k) partial[k] += term(j + k);
  for (std::size_t k = 0; j + k < n; ++k) partial[k] += term(j + k);
  for (std::size_t half = width / 2; half > 0; half /= 2)
    for (std::size_t k = 0; k < half; ++k) partial[k] += partial[k + half];
  return partial[0];
}

}  // namespace trireme
