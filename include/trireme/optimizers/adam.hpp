/// Adam: each weight has its own rate, from running means of its gradient and of the gradient's square.
/// Source: Kingma, Ba, arXiv:1412.6980; amsgrad: Reddi, Kale, Kumar, arXiv:1904.09237.
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
struct AdamStep;

/// Adam: w -= rate c m / (sqrt(v) + epsilon), with running means m of the gradient g and v of its square.
///
/// m += (1 - beta_1) (g - m), v += (1 - beta_2) (g^2 - v), c = sqrt(1 - beta_2^t) / (1 - beta_1^t) in step t, counted
/// from 1. Weights w of any shape; the state is m and v, and with `amsgrad` the largest v so far, by which a step then
/// divides, each of the shape of w. Weight decay first takes rate weight_decay w from w. Source: Kingma, Ba,
/// arXiv:1412.6980, with epsilon as in Keras's Adam; amsgrad: Reddi, Kale, Kumar, arXiv:1904.09237. Designated
/// initializers name the members in this order.
/// \throws ValueError from compile, unless the betas are in [0, 1), epsilon is positive, the others not negative, all
/// finite, and at most one limit of clipping is not 0.
struct Adam {
  static constexpr FixedString name = "adam";

  Rate learning_rate = 1e-3;
  double beta_1 = 0.9, beta_2 = 0.999, epsilon = 1e-7;
  bool amsgrad = false;  ///< divide by the largest mean square so far
  double weight_decay = 0;
  double clipnorm = 0, global_clipnorm = 0, clipvalue = 0;  ///< at most one of them; 0: off

  void config(Config& c) const {
    c("beta_1", beta_1, intervals::below_one);
    c("beta_2", beta_2, intervals::below_one);
    c("epsilon", epsilon, intervals::positive);
    c("amsgrad", amsgrad);
  }

  static constexpr std::size_t interleaved_slots = 2;  ///< in files: both of a variable side by side, as in Keras
  constexpr std::size_t slots() const { return amsgrad ? 3 : 2; }
  double initial(std::size_t) const { return 0; }
  std::string_view slot_name(std::size_t slot) const {
    return slot == 0 ? "momentum" : slot == 1 ? "velocity" : "velocity_hat";
  }

  template <class T>
  AdamStep<T> step(std::uint64_t iteration, double rate) const {
    return AdamStep<T>::of(*this, iteration, rate);
  }
};

/// Adam's step on one element, or on a vector of elements.
template <class T>
struct AdamStep {
  static constexpr bool takes_vectors = true;

  T alpha, one_minus_beta_1, one_minus_beta_2, epsilon, decay;
  bool amsgrad;

  /// For the optimizers that share this update.
  template <class Optimizer>
  static AdamStep of(Optimizer const& o, std::uint64_t iteration, double rate) {
    double const t = static_cast<double>(iteration);
    double const correction = std::sqrt(1 - std::pow(o.beta_2, t)) / (1 - std::pow(o.beta_1, t));
    return {.alpha = static_cast<T>(rate * correction),
            .one_minus_beta_1 = static_cast<T>(1 - o.beta_1),
            .one_minus_beta_2 = static_cast<T>(1 - o.beta_2),
            .epsilon = static_cast<T>(o.epsilon),
            .decay = static_cast<T>(o.weight_decay * rate),
            .amsgrad = o.amsgrad};
  }

  template <class Value, class Pointer>
  KOKKOS_FUNCTION void operator()(std::size_t i, Pointer w, Value gradient, Pointer const* slots) const {
    Value const weight = w[i] - w[i] * decay;
    Value const m = math::flush_subnormals<T>(slots[0][i] + (gradient - slots[0][i]) * one_minus_beta_1);
    Value const v = math::flush_subnormals<T>(slots[1][i] + (gradient * gradient - slots[1][i]) * one_minus_beta_2);
    slots[0][i] = m;
    slots[1][i] = v;
    Value square = v;
    if (amsgrad) {
      Value const largest = slots[2][i];
      square = math::where(largest > v, largest, v);
      slots[2][i] = square;
    }
    w[i] = weight - alpha * m / (math::sqrt(square) + epsilon);
  }
};

}  // namespace trireme
