/// Penalties on the size of parameters, added to the loss: l1 * sum |w| + l2 * sum w^2.
#pragma once

#include "trireme/core/config.hpp"

namespace trireme {

/// Penalty on the weights w of one parameter, added to the loss: l1 * sum |w| + l2 * sum w^2.
/// `Dense<64>{.kernel_regularizer = L2(1e-4)}`; both at once: `{.l1 = 1e-5, .l2 = 1e-4}`.
///
/// Source: Keras `regularizers`.
/// \throws ValueError from `compile` if a factor is negative or not finite.
struct Regularizer {
  double l1 = 0;
  double l2 = 0;

  void config(Config& c) const {
    c("l1", l1, intervals::not_negative);
    c("l2", l2, intervals::not_negative);
  }
  /// True if a factor is not 0.
  constexpr bool active() const { return l1 != 0 || l2 != 0; }
};

/// Penalty l1 * sum |w|, with Keras's default factor 0.01; errors are those of Regularizer.
struct L1 : Regularizer {
  /// Factor of sum |w|.
  constexpr explicit L1(double factor = 0.01) : Regularizer{.l1 = factor, .l2 = 0} {}
};
/// Penalty l2 * sum w^2, with Keras's default factor 0.01; errors are those of Regularizer.
struct L2 : Regularizer {
  /// Factor of sum w^2.
  constexpr explicit L2(double factor = 0.01) : Regularizer{.l1 = 0, .l2 = factor} {}
};
/// Penalty l1 * sum |w| + l2 * sum w^2; Keras's `L1L2`. Errors are those of Regularizer.
struct L1L2 : Regularizer {
  /// Factors of sum |w| and of sum w^2.
  constexpr explicit L1L2(double of_magnitudes = 0, double of_squares = 0)
      : Regularizer{.l1 = of_magnitudes, .l2 = of_squares} {}
};

}  // namespace trireme
