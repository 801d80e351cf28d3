/// Lars: SGD with momentum whose rate is scaled for each tensor by the norms of its weights and of its gradient, for
/// large batches. Source: You, Gitman, Ginsburg, arXiv:1708.03888.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include <Kokkos_Macros.hpp>
#include <Kokkos_MathematicalFunctions.hpp>

#include "trireme/backend/simd/math.hpp"
#include "trireme/core/config.hpp"
#include "trireme/core/fixed_string.hpp"
#include "trireme/schedules/rate.hpp"

namespace trireme {

template <class T>
struct LarsRule;

/// Lars: m = momentum m - r (g + weight_decay w), then w += m, with a rate r of each tensor.
///
/// r = learning_rate trust_coefficient norm(w) / (norm(g) + weight_decay norm(w)), and learning_rate alone where a norm
/// is 0, as of biases before their first step. A tensor is a weight of any shape; the state is m, of the shape of w.
/// The norms are over the processes that hold parts of the tensor: a step is collective among them. Source: You,
/// Gitman, Ginsburg, arXiv:1708.03888; Keras has none. Designated initializers name the members in this order.
/// \throws ValueError from compile, unless momentum is in [0, 1], trust_coefficient positive, the others not negative,
/// all finite, and at most one limit of clipping is not 0.
struct Lars {
  static constexpr FixedString name = "lars";

  Rate learning_rate = 0.1;
  double momentum = 0.9;
  double trust_coefficient = 1e-3;
  double weight_decay = 0;                                  ///< of the gradient: g + weight_decay * w
  double clipnorm = 0, global_clipnorm = 0, clipvalue = 0;  ///< at most one of them; 0: off

  void config(Config& c) const {
    c("momentum", momentum, intervals::fraction);
    c("trust_coefficient", trust_coefficient, intervals::positive);
  }

  constexpr std::size_t slots() const { return 1; }
  double initial(std::size_t) const { return 0; }
  std::string_view slot_name(std::size_t) const { return "momentum"; }

  template <class T>
  LarsRule<T> step(std::uint64_t /*iteration*/, double rate) const {
    return {.momentum = static_cast<T>(momentum),
            .rate = rate,
            .trust_coefficient = trust_coefficient,
            .weight_decay = weight_decay};
  }
};

/// The step of a tensor with its own rate, which is inside the momentum.
template <class T>
struct LarsStep {
  static constexpr bool takes_vectors = true;

  T rate, momentum, decay;

  template <class Value, class Pointer>
  KOKKOS_FUNCTION void operator()(std::size_t i, Pointer w, Value gradient, Pointer const* slots) const {
    Value const m = math::flush_subnormals<T>(momentum * slots[0][i] - rate * (gradient + decay * w[i]));
    slots[0][i] = m;
    w[i] = w[i] + m;
  }
};

/// Lars's rule, which needs two sums over each tensor before its step.
template <class T>
struct LarsRule {
  static constexpr std::size_t tensor_sums = 2;  ///< squares of weights, and of gradients

  T momentum;
  double rate, trust_coefficient, weight_decay;

  KOKKOS_FUNCTION void add(std::size_t i, T const* w, T gradient, T const* const*, double* sums) const {
    sums[0] += static_cast<double>(w[i]) * static_cast<double>(w[i]);
    sums[1] += static_cast<double>(gradient) * static_cast<double>(gradient);
  }
  KOKKOS_FUNCTION LarsStep<T> of_tensor(double const* sums) const {
    double const weights = Kokkos::sqrt(sums[0]), gradients = Kokkos::sqrt(sums[1]);
    double const trust =
        weights > 0 && gradients > 0 ? trust_coefficient * weights / (gradients + weight_decay * weights) : 1.0;
    return {static_cast<T>(rate * trust), momentum, static_cast<T>(weight_decay)};
  }
};

}  // namespace trireme
