/// Adamax: Adam with the largest gradient, forgotten slowly, in place of the root of the mean square.
/// Source: Kingma, Ba, arXiv:1412.6980, section 7.1.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include <Kokkos_Macros.hpp>

#include "trireme/backend/simd/math.hpp"
#include "trireme/core/config.hpp"
#include "trireme/core/fixed_string.hpp"
#include "trireme/schedules/rate.hpp"

namespace trireme {

template <class T>
struct AdamaxStep;

/// Adamax: w -= rate / (1 - beta_1^t) m / (u + epsilon) in step t, counted from 1.
///
/// m += (1 - beta_1) (g - m) is the running mean of the gradient g, u = max(beta_2 u, |g|) the largest gradient, slowly
/// forgotten. Weights w of any shape; the state is m and u, of the shape of w. Weight decay first takes rate
/// weight_decay w from w. Source: Kingma, Ba, arXiv:1412.6980, section 7.1, as Keras's Adamax. Designated initializers
/// name the members in this order.
/// \throws ValueError from compile, unless the betas are in [0, 1), epsilon is positive, the others not negative, all
/// finite, and at most one limit of clipping is not 0.
struct Adamax {
  static constexpr FixedString name = "adamax";

  Rate learning_rate = 1e-3;
  double beta_1 = 0.9, beta_2 = 0.999, epsilon = 1e-7;
  double weight_decay = 0;
  double clipnorm = 0, global_clipnorm = 0, clipvalue = 0;  ///< at most one of them; 0: off

  void config(Config& c) const {
    c("beta_1", beta_1, intervals::below_one);
    c("beta_2", beta_2, intervals::below_one);
    c("epsilon", epsilon, intervals::positive);
  }

  static constexpr std::size_t interleaved_slots = 2;  ///< in files: both of a variable side by side, as in Keras
  constexpr std::size_t slots() const { return 2; }
  double initial(std::size_t) const { return 0; }
  std::string_view slot_name(std::size_t slot) const { return slot == 0 ? "momentum" : "norm"; }

  template <class T>
  AdamaxStep<T> step(std::uint64_t iteration, double rate) const {
    return {.alpha = static_cast<T>(rate / (1 - std::pow(beta_1, static_cast<double>(iteration)))),
            .one_minus_beta_1 = static_cast<T>(1 - beta_1),
            .beta_2 = static_cast<T>(beta_2),
            .epsilon = static_cast<T>(epsilon),
            .decay = static_cast<T>(weight_decay * rate)};
  }
};

/// Adamax's step on one element, or on a vector of elements.
template <class T>
struct AdamaxStep {
  static constexpr bool takes_vectors = true;

  T alpha, one_minus_beta_1, beta_2, epsilon, decay;

  template <class Value, class Pointer>
  KOKKOS_FUNCTION void operator()(std::size_t i, Pointer w, Value gradient, Pointer const* slots) const {
    Value const m = math::flush_subnormals<T>(slots[0][i] + (gradient - slots[0][i]) * one_minus_beta_1);
    Value const faded = beta_2 * slots[1][i], magnitude = math::where(gradient < T(0), -gradient, gradient);
    Value const norm = math::flush_subnormals<T>(math::where(faded > magnitude, faded, magnitude));
    slots[0][i] = m;
    slots[1][i] = norm;
    w[i] = w[i] - w[i] * decay - alpha * m / (norm + epsilon);
  }
};

}  // namespace trireme
