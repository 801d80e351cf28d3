/// CosineDecayRestarts: cosine decays in a row, each t_mul times as long and m_mul times as high as the one before.
/// Source: Loshchilov, Hutter, "SGDR: stochastic gradient descent with warm restarts", arXiv:1608.03983.
#pragma once

#include <cmath>
#include <cstdint>
#include <numbers>

#include "trireme/core/config.hpp"

namespace trireme {

/// Cosine decays in a row: rate(t) = r ((1 - alpha) m_mul^i (1 + cos(pi f)) / 2 + alpha) in period i, of which f is
/// over.
///
/// t counts optimizer steps from 0; r is initial_learning_rate. Period i, counted from 0, takes first_decay_steps
/// t_mul^i steps. Source: Loshchilov, Hutter, arXiv:1608.03983, as Keras's CosineDecayRestarts, which takes t_mul below
/// 1 too and returns NaN once all periods are over. Designated initializers name the members in this order.
/// \throws ValueError from compile, unless first_decay_steps is positive, t_mul at least 1, and all numbers are finite
/// and not negative.
struct CosineDecayRestarts {
  double initial_learning_rate = 1e-3;
  double first_decay_steps = 1000;
  double t_mul = 2;
  double m_mul = 1;
  double alpha = 0;  ///< the lowest rate, as a part of initial_learning_rate

  void config(Config& c) const {
    c("initial_learning_rate", initial_learning_rate, intervals::not_negative);
    c("first_decay_steps", first_decay_steps, intervals::positive);
    c("t_mul", t_mul, {1, intervals::infinity, false, true});
    c("m_mul", m_mul, intervals::not_negative);
    c("alpha", alpha, intervals::not_negative);
  }

  double operator()(std::uint64_t iteration) const {
    double fraction = static_cast<double>(iteration) / first_decay_steps;
    double restart = 0;
    if (t_mul == 1) {
      restart = std::floor(fraction);
      fraction -= restart;
    } else {
      auto const begin = [this](double period) { return (1 - std::pow(t_mul, period)) / (1 - t_mul); };
      restart = std::floor(std::log(1 - fraction * (1 - t_mul)) / std::log(t_mul));
      // In the first step of a period the quotient, an integer, may be rounded down.
      if (fraction >= begin(restart + 1)) ++restart;
      fraction = (fraction - begin(restart)) / std::pow(t_mul, restart);
    }
    double const cosine = 0.5 * std::pow(m_mul, restart) * (1 + std::cos(std::numbers::pi * fraction));
    return initial_learning_rate * ((1 - alpha) * cosine + alpha);
  }
};

}  // namespace trireme
