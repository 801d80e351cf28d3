/// Rate: a learning rate, given as a number or as a schedule.
#pragma once

#include <concepts>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "trireme/core/config.hpp"

namespace trireme {

/// A schedule: a function of the optimizer step, counted from 0, that returns the learning rate of the step.
///
/// `double operator()(std::uint64_t iteration) const`, the same on every process; an optional `config(Config&)` lists
/// its numbers, whose ranges `compile` checks.
template <class S>
concept Schedule = std::is_invocable_r_v<double, S const&, std::uint64_t> && !std::is_arithmetic_v<S>;

/// A learning rate: a number or any schedule, so that optimizers need no template argument for it.
///
/// `Adam{.learning_rate = 1e-3}`, `Adam{.learning_rate = CosineDecay{…}}`. Rates are factors of an optimizer's step,
/// without a unit.
/// \throws ValueError from compile, if the number, or the schedule's rate of step 0, is negative or infinite.
class Rate {
 public:
  /// Constant rate.
  template <class Number>
    requires std::is_arithmetic_v<Number>
  Rate(Number constant) : constant_(static_cast<double>(constant)) {}

  /// Rate that follows a schedule.
  template <class S>
    requires(Schedule<S> && !std::same_as<S, Rate>)
  Rate(S schedule)
      : schedule_(schedule), config_([s = std::move(schedule)](Config& c, std::string_view name) { c(name, s); }) {}

  /// True if it was made from a schedule: setting it throws ValueError then, and `.weights.h5` does not store it.
  bool is_schedule() const { return static_cast<bool>(schedule_); }

  void config(Config& c, std::string_view name) const {
    if (!is_schedule()) {
      c(name, std::string("a number"));  // which the kind of a schedule is compared with
      return c(name, constant_, intervals::not_negative);
    }
    config_(c, name);
    c(std::string(name) + "(0)", schedule_(0), intervals::not_negative);
  }

  /// The rate of this optimizer step, counted from 0.
  double operator()(std::uint64_t iteration) const { return schedule_ ? schedule_(iteration) : constant_; }

 private:
  double constant_ = 0;
  std::function<double(std::uint64_t)> schedule_;
  std::function<void(Config&, std::string_view)> config_;
};

}  // namespace trireme
