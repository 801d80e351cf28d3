/// Labels of the hinge losses: -1 and 1, or 0 and 1.
#pragma once

#include <cstddef>

#include <Kokkos_Macros.hpp>

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

}  // namespace trireme
