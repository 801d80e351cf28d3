/// AdamW: Adam with weights that decay beside the gradient's update.
/// Source: Loshchilov, Hutter, arXiv:1711.05101.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "trireme/core/config.hpp"
#include "trireme/core/fixed_string.hpp"
#include "trireme/optimizers/adam.hpp"
#include "trireme/schedules/rate.hpp"

namespace trireme {

/// AdamW: Adam with decoupled weight decay, w -= rate weight_decay w before Adam's step.
///
/// Weights of any shape; the state is Adam's. It differs from Adam in the default of weight_decay and the order of
/// members. Source: Loshchilov, Hutter, arXiv:1711.05101, as Keras's AdamW. Designated initializers name the members in
/// this order.
/// \throws ValueError from compile, unless the betas are in [0, 1), epsilon is positive, the others not negative, all
/// finite, and at most one limit of clipping is not 0.
struct AdamW {
  static constexpr FixedString name = "adamw";

  Rate learning_rate = 1e-3;
  double weight_decay = 4e-3;
  double beta_1 = 0.9, beta_2 = 0.999, epsilon = 1e-7;
  bool amsgrad = false;                                     ///< divide by the largest mean square so far
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

}  // namespace trireme
