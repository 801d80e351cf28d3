/// ReLU: the positive part, max(x, 0).
#pragma once

#include <Kokkos_Macros.hpp>

#include "trireme/backend/simd/math.hpp"
#include "trireme/core/fixed_string.hpp"

namespace trireme {

/// Rectified linear unit: y = max(x, 0).
///
/// Elementwise: the output has the shape of the input; a NaN stays a NaN. The formula is that of Keras's relu.
struct ReLU {
  static constexpr FixedString name = "relu";
  static constexpr bool elementwise = true;
  static constexpr bool derivative_from_output = true;
  static constexpr bool non_decreasing = true;

  template <class T>
  KOKKOS_FUNCTION T operator()(T x) const {
    return math::where(x < T(0), T(0), x);  // a NaN stays a NaN
  }

  /// 0 at 0, as in Keras.
  template <class T>
  KOKKOS_FUNCTION T derivative(T y) const {
    return math::select(y > T(0), T(1), T(0));
  }
};

}  // namespace trireme
