/// Sigmoid: 1 / (1 + exp(-x)).
#pragma once

#include <Kokkos_MathematicalFunctions.hpp>

#include "trireme/backend/simd/math.hpp"
#include "trireme/core/fixed_string.hpp"

namespace trireme {

/// Logistic sigmoid: y = 1 / (1 + exp(-x)).
///
/// Elementwise: the output has the shape of the input, with values in [0, 1]. In front of BinaryCrossentropy a model is
/// trained on x, without overflow.
struct Sigmoid {
  static constexpr FixedString name = "sigmoid";
  static constexpr bool elementwise = true;
  static constexpr bool derivative_from_output = true;
  static constexpr bool non_decreasing = true;

  /// Without branches: for very negative x the exponential overflows to infinity, and the result is the right one, 0.
  template <class T>
  KOKKOS_FUNCTION T operator()(T x) const {
    return T(1) / (T(1) + math::exp(-x));
  }

  template <class T>
  KOKKOS_FUNCTION T derivative(T y) const {
    return y * (T(1) - y);
  }
};

}  // namespace trireme
