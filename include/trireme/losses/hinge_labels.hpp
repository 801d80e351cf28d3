/// Labels of the hinge losses: -1 and 1, or 0 and 1.
#pragma once

#include <cstddef>
#include <type_traits>

#include <Kokkos_Macros.hpp>

#include "trireme/backend/simd/math.hpp"

namespace trireme {

/// True if all labels of a position are 0 or 1, so that 0 stands for -1. Keras looks at the whole batch instead, which
/// differs only where a batch mixes positions of both kinds, and would depend on how the batch is cut.
template <class T>
KOKKOS_INLINE_FUNCTION bool are_zero_one_labels(T const* truth, std::size_t size) {
  for (std::size_t i = 0; i < size; ++i) {
    if (truth[i] != T(0) && truth[i] != T(1)) return false;
  }
  return true;
}

/// The label of one output as -1 or 1; `zero_one` is the result of are_zero_one_labels for its position.
template <class Condition, class T>
KOKKOS_INLINE_FUNCTION T hinge_label(Condition const& zero_one, T const& truth) {
  if constexpr (std::is_same_v<Condition, bool>)
    return zero_one ? T(2) * truth - T(1) : truth;
  else
    return math::where(zero_one, T(2) * truth - T(1), truth);
}

}  // namespace trireme
