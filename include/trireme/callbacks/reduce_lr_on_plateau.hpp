/// ReduceLROnPlateau: lowers the learning rate when a monitored value has stopped improving.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <string_view>

#include "trireme/callbacks/improvement.hpp"
#include "trireme/core/config.hpp"
#include "trireme/core/error.hpp"
#include "trireme/core/fixed_string.hpp"
#include "trireme/core/text.hpp"
#include "trireme/mpi/uniform.hpp"

namespace trireme {

/// Reduction of the learning rate, to max(rate * factor, min_lr), when a monitored value has not improved for
/// `patience` epochs: `ReduceLROnPlateau<"val_loss">{.factor = 0.5, .patience = 3}`. Decisions are those of Keras's
/// `ReduceLROnPlateau`, except that NaN is never an improvement.
///
/// Logs the rate of the epoch as `learning_rate`. While it cools down, an epoch counts towards the cooldown only (so a
/// cooldown of 1 has no effect). No vote of the processes is needed. Designated initializers name the members in this
/// order.
///
/// Compile-time errors: a monitored value that is not logged.
/// \throws ValueError from `fit` if `factor` is outside of [0, 1), `min_lr` is negative, `min_delta` is not finite,
/// `mode` is automatic and the metric declares no direction, or the optimizer has a schedule.
template <FixedString Monitor = "val_loss">
struct ReduceLROnPlateau {
  using logs_alike = void;  ///< what it logs is the same on all processes

  static constexpr std::string_view monitor = Monitor.view();
  static constexpr std::array logs{std::string_view("learning_rate")};

  double factor = 0.1;        ///< the new rate is the old one times this, less than 1
  std::size_t patience = 10;  ///< epochs without improvement after which the rate is lowered
  bool verbose = false;
  Mode mode = Mode::automatic;
  double min_delta = 1e-4;   ///< improvements up to this size do not count
  std::size_t cooldown = 0;  ///< epochs after a reduction in which `wait` does not count
  double min_lr = 0;         ///< the rate is never set below it

  void config(Config& c) const {
    c("factor", factor, intervals::below_one);
    c("patience", patience, intervals::count);
    c("mode", mode);
    c("min_delta", min_delta, intervals::finite);
    c("cooldown", cooldown, intervals::count);
    c("min_lr", min_lr, intervals::not_negative);
  }

  // State, reset by on_train_begin (the learning rate itself is the optimizer's and is not reset).
  std::size_t wait = 0;
  std::size_t cooldown_counter = 0;
  std::optional<double> best{};
  MonitorWarnings warnings{};
  Mode resolved_mode = Mode::automatic;

  template <class Run>
  void on_train_begin(Run& run) {
    if (run.has_schedule())  // before hours of training, and not at their first plateau
      raise_uniform(ValueError("ReduceLROnPlateau cannot set the learning rate of an optimizer with a schedule"));
    resolved_mode = resolve_mode(mode, "ReduceLROnPlateau", monitor, run);
    wait = 0;
    cooldown_counter = 0;
    best.reset();
    warnings = {};
  }

  template <class Run>
  void on_epoch_end(Run& run) {
    auto const rate = run.learning_rate();
    run.logs().set("learning_rate", rate);
    auto const current = run.logs().find(monitor);
    if (!current) {
      warnings.on_missing("ReduceLROnPlateau", monitor, run, run.logs().names());
      return;
    }
    warnings.on_value("ReduceLROnPlateau", monitor, run, current->value());
    if (!reduces(current->value()) || !(rate.value() > min_lr)) return;
    double const lower = std::max(rate.value() * factor, min_lr);
    run.set_learning_rate(lower);
    if (verbose) run.message(formatted("Epoch {}: learning rate lowered to {}", run.epoch() + 1, lower));
    cooldown_counter = cooldown;
    wait = 0;
  }

  template <class Archive>
  void state(Archive& archive) {
    archive("wait", wait);
    archive("cooldown_counter", cooldown_counter);
    archive("best", best);
  }

 private:
  /// Counts the epoch. \return true if the rate is to be lowered, unless it is at its minimum
  bool reduces(double value) {
    if (cooldown_counter > 0) {
      --cooldown_counter;
      wait = 0;
    }
    if (improves(resolved_mode, min_delta, value, best)) {
      best = value;
      wait = 0;
      return false;
    }
    if (cooldown_counter > 0) return false;
    return ++wait >= patience;
  }
};

}  // namespace trireme
