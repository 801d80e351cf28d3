/// Softplus: log(1 + exp(x)).
#pragma once

#include <Kokkos_MathematicalFunctions.hpp>

#include "trireme/backend/simd/math.hpp"
#include "trireme/core/fixed_string.hpp"

namespace trireme {

/// Softplus: y = log(1 + exp(x)), without overflow.
///
/// Elementwise: the output has the shape of the input, and is not negative. Source: Dugas et al., NIPS 2000, as Keras's
/// softplus.
struct Softplus {
  static constexpr FixedString name = "softplus";
  static constexpr bool elementwise = true;
  static constexpr bool derivative_from_output = true;
  static constexpr bool non_decreasing = true;

  /// The exponential of -|x| cannot overflow.
  template <class T>
  KOKKOS_FUNCTION T operator()(T x) const {
    using Kokkos::fabs;
    return math::where(x < T(0), T(0), x) + math::softplus_of_negative(-fabs(x));
  }

  /// The sigmoid of x, which is 1 - exp(-y).
  template <class T>
  KOKKOS_FUNCTION T derivative(T y) const {
    return -math::expm1_nonpositive(-y);
  }
};

}  // namespace trireme
