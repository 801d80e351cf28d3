/// HardSigmoid: a straight line between 0 and 1.
#pragma once

#include <Kokkos_Macros.hpp>

#include "trireme/backend/simd/math.hpp"
#include "trireme/core/fixed_string.hpp"

namespace trireme {

/// Hard sigmoid: y = min(max(x / 6 + 1/2, 0), 1).
///
/// Elementwise: the output has the shape of the input, with values in [0, 1]; the derivative is 0 at both bounds. The
/// formula is that of Keras 3's hard_sigmoid.
struct HardSigmoid {
  static constexpr FixedString name = "hard_sigmoid";
  static constexpr bool elementwise = true;
  static constexpr bool derivative_from_output = true;

  template <class T>
  KOKKOS_FUNCTION T operator()(T x) const {
    T const y = x / T(6) + T(0.5);
    return math::where(y < T(0), T(0), math::where(y > T(1), T(1), y));
  }

  template <class T>
  KOKKOS_FUNCTION T derivative(T y) const {
    return math::where(y > T(0) && y < T(1), T(1) / T(6), T(0));
  }
};

}  // namespace trireme
