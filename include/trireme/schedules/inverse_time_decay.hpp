/// InverseTimeDecay: the rate is divided by 1 + decay_rate * iteration / decay_steps.
#pragma once

#include <cmath>
#include <cstdint>

#include "trireme/core/config.hpp"

namespace trireme {

/// Inverse time decay: rate(t) = initial_learning_rate / (1 + decay_rate t / decay_steps).
///
/// t counts optimizer steps from 0; with `staircase` t / decay_steps is rounded down. The formula is that of Keras's
/// InverseTimeDecay. Designated initializers name the members in this order.
/// \throws ValueError from compile, unless decay_steps is positive and no number is negative or infinite.
struct InverseTimeDecay {
  double initial_learning_rate = 1e-3;
  double decay_steps = 1000;
  double decay_rate = 0.5;
  bool staircase = false;  ///< in steps instead of continuously

  void config(Config& c) const {
    c("initial_learning_rate", initial_learning_rate, intervals::not_negative);
    c("decay_steps", decay_steps, intervals::positive);
    c("decay_rate", decay_rate, intervals::not_negative);
    c("staircase", staircase);
  }

  double operator()(std::uint64_t iteration) const {
    double const p = static_cast<double>(iteration) / decay_steps;
    return initial_learning_rate / (1 + decay_rate * (staircase ? std::floor(p) : p));
  }
};

}  // namespace trireme
