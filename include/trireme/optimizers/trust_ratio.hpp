/// Trust ratio of layer-wise rates: how far a tensor's step may go for the size of its weights.
#pragma once

#include <Kokkos_Macros.hpp>
#include <Kokkos_MathematicalFunctions.hpp>

namespace trireme {

/// Norm of a tensor's weights over that of its step, from the sums of their squares; 1 where one of them is 0.
KOKKOS_INLINE_FUNCTION double trust_ratio(double weights, double step) {
  return weights > 0 && step > 0 ? Kokkos::sqrt(weights) / Kokkos::sqrt(step) : 1.0;
}

}  // namespace trireme
