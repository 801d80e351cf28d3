/// PolynomialDecay: from one rate to another within `decay_steps`, along (1 - iteration / decay_steps)^power.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "trireme/core/config.hpp"

namespace trireme {

/// Polynomial decay: rate(t) = (r - e) (1 - min(t, s) / s)^power + e, from r = initial_learning_rate to e.
///
/// t counts optimizer steps from 0; s = decay_steps and e = end_learning_rate. With `cycle` s is the smallest multiple
/// of decay_steps that is not below t, so that the rate rises again after each end. The formula is that of Keras's
/// PolynomialDecay. Designated initializers name the members in this order.
/// \throws ValueError from compile, unless decay_steps is positive and no number is negative or infinite.
struct PolynomialDecay {
  double initial_learning_rate = 1e-3;
  double decay_steps = 1000;
  double end_learning_rate = 1e-4;
  double power = 1;
  bool cycle = false;  ///< start again from a higher rate with a longer decay, instead of staying at the end

  void config(Config& c) const {
    c("initial_learning_rate", initial_learning_rate, intervals::not_negative);
    c("decay_steps", decay_steps, intervals::positive);
    c("end_learning_rate", end_learning_rate, intervals::not_negative);
    c("power", power, intervals::not_negative);
    c("cycle", cycle);
  }

  double operator()(std::uint64_t iteration) const {
    double const step = static_cast<double>(iteration);
    double const length = cycle ? decay_steps * (iteration == 0 ? 1 : std::ceil(step / decay_steps)) : decay_steps;
    double const p = std::min(step, length) / length;
    return (initial_learning_rate - end_learning_rate) * std::pow(1 - p, power) + end_learning_rate;
  }
};

}  // namespace trireme
