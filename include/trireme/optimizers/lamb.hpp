/// Lamb: Adam's step, scaled for each tensor to the norm of its weights, for large batches.
/// Source: You, Li, Reddi et al., arXiv:1904.00962.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include <Kokkos_Macros.hpp>

#include "trireme/backend/simd/math.hpp"
#include "trireme/core/config.hpp"
#include "trireme/core/fixed_string.hpp"
#include "trireme/optimizers/trust_ratio.hpp"
#include "trireme/schedules/rate.hpp"

namespace trireme {

template <class T>
struct LambRule;

/// Lamb: w -= rate r d, Adam's step d scaled for each tensor to the norm of its weights, r = norm(w) / norm(d).
///
/// d = m / (1 - beta_1^t) / (sqrt(v / (1 - beta_2^t)) + epsilon) with Adam's m and v in step t, counted from 1; r = 1
/// where a norm is 0. Weight decay first takes rate weight_decay w from w. A tensor is a weight of any shape; the state
/// is m and v, of the shape of w. The norms are over the processes that hold parts of the tensor: a step is collective
/// among them. Source: You, Li, Reddi et al., arXiv:1904.00962, as Keras's Lamb. Designated initializers name the
/// members in this order.
/// \throws ValueError from compile, unless the betas are in [0, 1), epsilon is positive, the others not negative, all
/// finite, and at most one limit of clipping is not 0.
struct Lamb {
  static constexpr FixedString name = "lamb";

  Rate learning_rate = 1e-3;
  double beta_1 = 0.9, beta_2 = 0.999, epsilon = 1e-7;
  double weight_decay = 0;                                  ///< of the weights before the step, beside the ratio
  double clipnorm = 0, global_clipnorm = 0, clipvalue = 0;  ///< at most one of them; 0: off

  void config(Config& c) const {
    c("beta_1", beta_1, intervals::below_one);
    c("beta_2", beta_2, intervals::below_one);
    c("epsilon", epsilon, intervals::positive);
  }

  static constexpr std::size_t interleaved_slots = 2;  ///< in files: both of a variable side by side, as in Keras
  constexpr std::size_t slots() const { return 2; }
  double initial(std::size_t) const { return 0; }
  std::string_view slot_name(std::size_t slot) const { return slot == 0 ? "momentum" : "velocity"; }

  template <class T>
  LambRule<T> step(std::uint64_t iteration, double rate) const {
    double const t = static_cast<double>(iteration);
    return {{.one_minus_beta_1 = static_cast<T>(1 - beta_1),
             .one_minus_beta_2 = static_cast<T>(1 - beta_2),
             .momentum_scale = static_cast<T>(1 / (1 - std::pow(beta_1, t))),
             .velocity_scale = static_cast<T>(1 / (1 - std::pow(beta_2, t))),
             .epsilon = static_cast<T>(epsilon),
             .decay = static_cast<T>(weight_decay * rate)},
            rate};
  }
};

/// Adam's moments: for an element its decayed weight, its new slots, and the direction of its step.
template <class T>
struct LambMoments {
  T one_minus_beta_1, one_minus_beta_2, momentum_scale, velocity_scale, epsilon, decay;

  template <class Value>
  struct Element {
    Value weight, momentum, velocity, direction;
  };
  /// Element's decayed weight, new moments and direction.
  template <class Value>
  KOKKOS_FUNCTION Element<Value> of(Value weight, Value gradient, Value momentum, Value velocity) const {
    Value const m = math::flush_subnormals<T>(momentum + (gradient - momentum) * one_minus_beta_1);
    Value const v = math::flush_subnormals<T>(velocity + (gradient * gradient - velocity) * one_minus_beta_2);
    return {weight - weight * decay, m, v, m * momentum_scale / (math::sqrt(v * velocity_scale) + epsilon)};
  }
};

/// The step of a tensor, whose ratio is in its rate.
template <class T>
struct LambStep {
  static constexpr bool takes_vectors = true;

  LambMoments<T> moments;
  T rate;

  template <class Value, class Pointer>
  KOKKOS_FUNCTION void operator()(std::size_t i, Pointer w, Value gradient, Pointer const* slots) const {
    auto const element = moments.template of<Value>(w[i], gradient, slots[0][i], slots[1][i]);
    slots[0][i] = element.momentum;
    slots[1][i] = element.velocity;
    w[i] = element.weight - rate * element.direction;
  }
};

/// Lamb's rule, which needs two sums over each tensor before its step.
template <class T>
struct LambRule {
  static constexpr std::size_t tensor_sums = 2;  ///< squares of weights, and of directions

  LambMoments<T> moments;
  double rate;

  KOKKOS_FUNCTION void add(std::size_t i, T const* w, T gradient, T const* const* slots, double* sums) const {
    auto const element = moments.of(w[i], gradient, slots[0][i], slots[1][i]);
    sums[0] += static_cast<double>(element.weight) * static_cast<double>(element.weight);
    sums[1] += static_cast<double>(element.direction) * static_cast<double>(element.direction);
  }
  KOKKOS_FUNCTION LambStep<T> of_tensor(double const* sums) const {
    return {moments, static_cast<T>(rate * trust_ratio(sums[0], sums[1]))};
  }
};

}  // namespace trireme
