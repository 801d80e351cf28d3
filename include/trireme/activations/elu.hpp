/// ELU: x where it is positive, alpha (exp(x) - 1) elsewhere.
/// Source: Clevert, Unterthiner, Hochreiter, arXiv:1511.07289.
#pragma once

#include <Kokkos_Macros.hpp>

#include "trireme/backend/simd/math.hpp"
#include "trireme/core/config.hpp"
#include "trireme/core/fixed_string.hpp"

namespace trireme {

/// Exponential linear unit: y = x where x > 0, and alpha (exp(x) - 1) elsewhere.
///
/// Elementwise: the output has the shape of the input; y is above -alpha. Source: Clevert et al., arXiv:1511.07289.
/// \throws ValueError from compile, if alpha is negative or infinite.
struct ELU {
  /// Not below 0.
  double alpha = 1.0;

  void config(Config& c) const { c("alpha", alpha, intervals::not_negative); }

  static constexpr FixedString name = "elu";
  static constexpr bool elementwise = true;
  static constexpr bool derivative_from_output = true;
  static constexpr bool non_decreasing = true;

  template <class T>
  KOKKOS_FUNCTION T operator()(T x) const {
    T const below = static_cast<T>(alpha) * math::expm1_nonpositive(math::select(x > T(0), T(0), x));
    return math::select(x > T(0), x, below);
  }

  template <class T>
  KOKKOS_FUNCTION T derivative(T y) const {
    return math::select(y > T(0), T(1), y + static_cast<T>(alpha));
  }
};

}  // namespace trireme
