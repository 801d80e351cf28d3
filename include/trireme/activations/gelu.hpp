/// GELU: x times the probability that a standard normal variable is below x.
/// Source: Hendrycks, Gimpel, "Gaussian error linear units", arXiv:1606.08415.
#pragma once

#include <Kokkos_Macros.hpp>

#include "trireme/backend/simd/math.hpp"
#include "trireme/core/config.hpp"
#include "trireme/core/fixed_string.hpp"

namespace trireme {

/// GELU by the error function: y = x (1 + erf(x / sqrt(2))) / 2, elementwise, for any shape.
struct ExactGELU {
  template <class T>
  KOKKOS_FUNCTION T operator()(T x) const {
    return x * math::normal_probability(x);
  }

  template <class T>
  KOKKOS_FUNCTION T derivative(T x) const {
    T const density = static_cast<T>(0.39894228040143267794) * math::exp(T(-0.5) * x * x);  // 1 / sqrt(2 pi)
    return math::normal_probability(x) + x * density;
  }
};

/// GELU by the hyperbolic tangent of a cubic: y = x (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))) / 2, for any shape.
struct TanhGELU {
  template <class T>
  KOKKOS_FUNCTION T operator()(T x) const {
    return x * probability(x);
  }

  template <class T>
  KOKKOS_FUNCTION T derivative(T x) const {
    T const p = probability(x);
    T const slope = static_cast<T>(scale) * (T(1) + T(3) * static_cast<T>(cubic) * x * x);
    return p + T(2) * x * p * (T(1) - p) * slope;
  }

 private:
  static constexpr double scale = 0.79788456080286535588;  // sqrt(2 / pi)
  static constexpr double cubic = 0.044715;

  /// (1 + tanh(u)) / 2 is the sigmoid of 2u.
  template <class T>
  static KOKKOS_FUNCTION T probability(T x) {
    T const u = static_cast<T>(scale) * (x + static_cast<T>(cubic) * x * x * x);
    return T(1) / (T(1) + math::exp(T(-2) * u));
  }
};

/// Gaussian error linear unit: y = x P(X < x), X standard normal; TanhGELU's formula with `approximate`.
///
/// Elementwise: the output has the shape of the input. LSTM and GRU do not take it, since its derivative does not
/// follow from its output. Source: Hendrycks, Gimpel, arXiv:1606.08415, as Keras's gelu.
struct GELU {
  /// With the hyperbolic tangent of a cubic instead of the error function.
  bool approximate = false;

  void config(Config& c) const { c("approximate", approximate); }

  static constexpr FixedString name = "gelu";
  static constexpr bool elementwise = true;
  static constexpr bool derivative_from_output = false;

  template <class T>
  KOKKOS_FUNCTION T operator()(T x) const {
    return approximate ? TanhGELU{}(x) : ExactGELU{}(x);
  }

  template <class T>
  KOKKOS_FUNCTION T derivative(T x) const {
    return approximate ? TanhGELU{}.derivative(x) : ExactGELU{}.derivative(x);
  }

  /// Calls f with the selected function, so that a loop over it has no branch.
  template <class F>
  void resolve(F const& f) const {
    if (approximate)
      f(TanhGELU{});
    else
      f(ExactGELU{});
  }
};

}  // namespace trireme
