/// Tanh: the hyperbolic tangent.
#pragma once

#include <Kokkos_MathematicalFunctions.hpp>

#include "trireme/backend/simd/math.hpp"
#include "trireme/core/fixed_string.hpp"

namespace trireme {

/// Hyperbolic tangent: y = tanh(x).
///
/// Elementwise: the output has the shape of the input, with values in [-1, 1].
struct Tanh {
  static constexpr FixedString name = "tanh";
  static constexpr bool elementwise = true;
  static constexpr bool derivative_from_output = true;
  static constexpr bool non_decreasing = true;

  template <class T>
  KOKKOS_FUNCTION T operator()(T x) const {
    return math::tanh(x);
  }

  template <class T>
  KOKKOS_FUNCTION T derivative(T y) const {
    return T(1) - y * y;
  }
};

}  // namespace trireme
