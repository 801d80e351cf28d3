/// InverseTimeDecay: the rate is divided by 1 + decay_rate * iteration / decay_steps.
#pragma once

#include <cmath>
#include <cstdint>

#include "trireme/core/config.hpp"

namespace trireme {

/// Designated initializers name the members in this order.
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
