/// LearningRateScheduler: sets the learning rate at the start of each epoch.
#pragma once

#include <array>
#include <cstddef>
#include <string_view>
#include <type_traits>

#include "trireme/core/config.hpp"
#include "trireme/core/error.hpp"
#include "trireme/core/text.hpp"

namespace trireme {

/// Learning rate of each epoch by a function: `schedule(epoch, rate)`, or `schedule(epoch)`, returns the rate of an
/// epoch (from 0); `rate` is the one before. It must return the same on every process. The rate is logged as
/// `learning_rate`. Source: Keras `LearningRateScheduler`.
///
///     LearningRateScheduler{.schedule = [](std::size_t epoch, double rate) { return epoch < 10 ? rate : rate * 0.9; }}
///
/// Compile-time errors: a schedule of another signature.
/// \throws ValueError from `fit` if the schedule returns a rate that is negative or not finite, or the optimizer has a
/// schedule of its own.
template <class Schedule>
struct LearningRateScheduler {
  using logs_alike = void;  ///< what it logs is the same on all processes

  static constexpr std::array logs{std::string_view("learning_rate")};

  Schedule schedule;
  bool verbose = false;

  template <class Run>
  void on_train_begin(Run& run) const {
    if (run.has_schedule())
      raise_uniform(ValueError("LearningRateScheduler cannot set the learning rate of an optimizer with a schedule"));
  }

  template <class Run>
  void on_epoch_begin(Run& run) {
    double const rate = next(run.epoch(), run.learning_rate().value());
    require_in(intervals::not_negative,
               formatted("the schedule of LearningRateScheduler for epoch {}", run.epoch() + 1), rate);
    run.set_learning_rate(rate);
    if (verbose) run.message(formatted("Epoch {}: learning rate {}", run.epoch() + 1, rate));
  }

  template <class Run>
  void on_epoch_end(Run& run) {
    run.logs().set("learning_rate", run.learning_rate());
  }

  /// State of a schedule that has a `state` of its own; the rate itself is saved with the optimizer.
  template <class Archive>
  void state(Archive& archive) {
    if constexpr (requires { schedule.state(archive); }) archive("schedule", schedule);
  }

 private:
  double next(std::size_t epoch, double rate) {
    static_assert(std::is_invocable_r_v<double, Schedule&, std::size_t, double> ||
                      std::is_invocable_r_v<double, Schedule&, std::size_t>,
                  "trireme: the schedule of LearningRateScheduler must be callable with (epoch, rate) or (epoch) and "
                  "return the rate");
    if constexpr (std::is_invocable_r_v<double, Schedule&, std::size_t, double>) {
      return schedule(epoch, rate);
    } else {
      return schedule(epoch);
    }
  }
};

}  // namespace trireme
