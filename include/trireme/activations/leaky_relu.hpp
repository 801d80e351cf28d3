/// LeakyReLU: x where it is positive, a small multiple of it elsewhere.
#pragma once

#include <Kokkos_Macros.hpp>

#include "trireme/backend/simd/math.hpp"
#include "trireme/core/config.hpp"
#include "trireme/core/fixed_string.hpp"

namespace trireme {

/// Leaky rectified linear unit: y = x where x > 0, and negative_slope x elsewhere.
///
/// Elementwise: the output has the shape of the input. Source: Maas, Hannun, Ng, ICML 2013, as Keras's LeakyReLU.
/// \throws ValueError from compile, if negative_slope is negative or infinite.
struct LeakyReLU {
  /// Not below 0. 0.3 is the default of Keras's layer; its activation string "leaky_relu" means 0.2.
  double negative_slope = 0.3;

  void config(Config& c) const { c("negative_slope", negative_slope, intervals::not_negative); }

  static constexpr FixedString name = "leaky_relu";
  static constexpr bool elementwise = true;
  static constexpr bool derivative_from_output = true;  // the slope is not negative, so the output keeps x's sign
  static constexpr bool non_decreasing = true;

  template <class T>
  KOKKOS_FUNCTION T operator()(T x) const {
    return math::select(x > T(0), x, static_cast<T>(negative_slope) * x);
  }

  template <class T>
  KOKKOS_FUNCTION T derivative(T y) const {
    return math::select(y > T(0), T(1), static_cast<T>(negative_slope));
  }
};

}  // namespace trireme
