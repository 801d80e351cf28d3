/// OptimizerProgress: an optimizer's number of steps, and the learning rate of the next one.
#pragma once

#include <cstdint>
#include <utility>

#include "trireme/core/config.hpp"
#include "trireme/core/error.hpp"

namespace trireme {

/// The optimizer of an engine without its slots. The rate is the schedule's, or the one that was set last.
template <class Optimizer>
class OptimizerProgress {
 public:
  /// Progress before the first step.
  explicit OptimizerProgress(Optimizer optimizer) : optimizer_(std::move(optimizer)) {
    if (!has_schedule()) rate_ = optimizer_.learning_rate(0);
  }

  Optimizer const& optimizer() const { return optimizer_; }
  /// Steps so far.
  std::uint64_t iteration() const { return iteration_; }
  void set_iteration(std::uint64_t iteration) { iteration_ = iteration; }
  bool has_schedule() const { return optimizer_.learning_rate.is_schedule(); }
  /// The rate of the next step.
  double learning_rate() const { return has_schedule() ? optimizer_.learning_rate(iteration_) : rate_; }
  /// \throws ValueError if a schedule decides the rate, or it is negative.
  void set_learning_rate(double rate) {
    if (has_schedule())
      throw ValueError("the learning rate of an optimizer with a schedule cannot be set: the schedule decides it");
    require_in(intervals::not_negative, "the learning rate", rate);
    rate_ = rate;
  }
  /// Puts the number of steps, and the rate if no schedule decides it, into the state of a model.
  template <class State>
  void store(State& state) const {
    state.iteration = static_cast<std::int64_t>(iteration_);
    if (!has_schedule()) state.learning_rate = static_cast<decltype(state.learning_rate)>(rate_);
  }

 private:
  Optimizer optimizer_;
  std::uint64_t iteration_ = 0;
  double rate_ = 0;
};

}  // namespace trireme
