/// EarlyStopping: stops training when a monitored value has stopped improving.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

#include "trireme/callbacks/control.hpp"
#include "trireme/callbacks/improvement.hpp"
#include "trireme/callbacks/snapshot.hpp"
#include "trireme/core/config.hpp"
#include "trireme/core/fixed_string.hpp"
#include "trireme/core/text.hpp"

namespace trireme {

/// End of training when a monitored value has not improved for `patience` epochs:
/// `EarlyStopping<"val_loss">{.patience = 3}`. Decisions are those of Keras's `EarlyStopping`, except that NaN is never
/// an improvement.
///
/// An epoch in which the value is missing does not count. Patience 0 behaves as 1, and the first epoch never stops
/// training. With `restore_best_weights` the best weights are restored at the end of training, whatever ended it. The
/// values are the same on every process, so that no vote is needed. Designated initializers name the members in this
/// order.
///
/// Compile-time errors: a monitored value that is not logged.
/// \throws ValueError from `fit`, on all processes, if `min_delta` is not finite, `baseline` is NaN, or `mode` is
/// automatic and the metric declares no direction.
template <FixedString Monitor = "val_loss">
struct EarlyStopping {
  using logs_alike = void;  ///< what it logs is the same on all processes

  static constexpr std::string_view monitor = Monitor.view();

  double min_delta = 0;      ///< improvements up to this size do not count; its sign does not matter
  std::size_t patience = 0;  ///< epochs without improvement after which training stops
  Mode mode = Mode::automatic;
  std::optional<double> baseline{};  ///< improvements that do not beat this value do not reset `wait`
  bool restore_best_weights = false;
  std::size_t start_from_epoch = 0;  ///< epochs before this one (counted from 0) are ignored
  bool verbose = false;

  void config(Config& c) const {
    c("min_delta", min_delta, intervals::finite);
    c("patience", patience, intervals::count);
    c("mode", mode);
    c("baseline", baseline, intervals::not_nan);
    c("restore_best_weights", restore_best_weights);
    c("start_from_epoch", start_from_epoch, intervals::count);
  }

  // State, reset by on_train_begin; of the best weights by on_train_end too.
  std::size_t wait = 0;
  std::optional<double> best{};
  std::size_t best_epoch = 0;
  std::size_t stopped_epoch = 0;
  Snapshot best_weights{};
  MonitorWarnings warnings{};
  Mode resolved_mode = Mode::automatic;

  template <class Run>
  void on_train_begin(Run& run) {
    resolved_mode = resolve_mode(mode, "EarlyStopping", monitor, run);
    wait = 0;
    best.reset();
    best_epoch = 0;
    stopped_epoch = 0;
    best_weights.reset();
    warnings = {};
  }

  template <class Run>
  Uniform<Control> on_epoch_end(Run& run) {
    auto const current = run.logs().find(monitor);
    if (!current) {
      warnings.on_missing("EarlyStopping", monitor, run, run.logs().names());
      return always<Control::proceed>();
    }
    if (run.epoch() < start_from_epoch) return always<Control::proceed>();
    return stop_if(*current, [&](double value) { return wants_stop(value, run); });
  }

  template <class Run>
  void on_train_end(Run& run) {
    if (verbose && stopped_epoch > 0) run.message(formatted("Epoch {}: early stopping", stopped_epoch + 1));
    if (restore_best_weights && best_weights) {
      if (verbose) run.message(formatted("Restoring the weights of epoch {}", best_epoch + 1));
      best_weights.restore_to(run);
    }
    best_weights.reset();  // the variable may live until after the Environment
  }

  template <class Archive>
  void state(Archive& archive) {
    archive("wait", wait);
    archive("best", best);
    archive("best_epoch", best_epoch);
    archive("stopped_epoch", stopped_epoch);
    archive("best_weights", best_weights);
  }

 private:
  template <class Run>
  bool wants_stop(double value, Run& run) {
    warnings.on_value("EarlyStopping", monitor, run, value);
    if (restore_best_weights && !best_weights) {
      best_weights.take(run);
      best_epoch = run.epoch();
    }
    ++wait;
    if (improves(resolved_mode, min_delta, value, best)) {
      best = value;
      best_epoch = run.epoch();
      if (restore_best_weights) best_weights.take(run);
      if (!baseline || improves(resolved_mode, min_delta, value, baseline)) wait = 0;
      return false;
    }
    if (wait < patience || run.epoch() == 0) return false;
    stopped_epoch = run.epoch();
    return true;
  }
};

}  // namespace trireme
