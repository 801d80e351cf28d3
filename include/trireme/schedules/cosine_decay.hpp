/// CosineDecay: half a period of a cosine, after an optional linear warmup.
/// Source: Loshchilov, Hutter, "SGDR: stochastic gradient descent with warm restarts", arXiv:1608.03983.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numbers>
#include <optional>

#include "trireme/core/config.hpp"

namespace trireme {

/// Half a period of a cosine: rate(t) = r ((1 - alpha) (1 + cos(pi min(t / decay_steps, 1))) / 2 + alpha).
///
/// t counts optimizer steps from 0, as do `decay_steps` and `warmup_steps`; r is initial_learning_rate. With
/// `warmup_target` the rate first goes linearly from initial_learning_rate to that target, r from then on, and t counts
/// from the end of the warmup. Source: Loshchilov, Hutter, arXiv:1608.03983, as Keras's CosineDecay. Designated
/// initializers name the members in this order.
/// \throws ValueError from compile, unless decay_steps is positive and no other number is negative or infinite.
struct CosineDecay {
  double initial_learning_rate = 1e-3;
  double decay_steps = 1000;
  double alpha = 0;  ///< the rate at the end, as a part of the rate at which the decay starts
  /// With it the rate first goes linearly from initial_learning_rate to this one in `warmup_steps` steps; the decay of
  /// `decay_steps` follows. Without it `warmup_steps` has no effect, as in Keras.
  std::optional<double> warmup_target = std::nullopt;
  double warmup_steps = 0;

  void config(Config& c) const {
    c("initial_learning_rate", initial_learning_rate, intervals::not_negative);
    c("decay_steps", decay_steps, intervals::positive);
    c("alpha", alpha, intervals::not_negative);
    c("warmup_target", warmup_target, intervals::not_negative);
    c("warmup_steps", warmup_steps, intervals::not_negative);
  }

  double operator()(std::uint64_t iteration) const {
    double const step = static_cast<double>(iteration);
    if (!warmup_target) return decayed(step, initial_learning_rate);
    if (step < warmup_steps) {
      return (*warmup_target - initial_learning_rate) * (step / warmup_steps) + initial_learning_rate;
    }
    return decayed(step - warmup_steps, *warmup_target);
  }

 private:
  double decayed(double step, double from) const {
    double const fraction = std::min(step, decay_steps) / decay_steps;
    double const cosine = 0.5 * (1 + std::cos(std::numbers::pi * fraction));
    return from * ((1 - alpha) * cosine + alpha);
  }
};

}  // namespace trireme
