/// Improvement of a monitored value over the best so far: the common rule of all callbacks that monitor.
#pragma once

#include <cmath>
#include <optional>
#include <string_view>

#include "trireme/core/error.hpp"
#include "trireme/core/text.hpp"
#include "trireme/metrics/direction.hpp"

namespace trireme {

/// Direction in which a monitored value improves. `automatic`: down for a loss, or as the metric declares.
enum class Mode { automatic, min, max };

/// True if `value` is better than `reference` by more than |min_delta|. NaN never is; without a reference every other
/// value is.
inline bool improves(Mode mode, double min_delta, double value, std::optional<double> reference) {
  if (std::isnan(value)) return false;
  if (!reference) return true;
  double const delta = std::abs(min_delta);
  return mode == Mode::max ? value - delta > *reference : value + delta < *reference;
}

/// Mode that `automatic` stands for: that of the metric's direction, min for the loss. Not collective.
/// \throws ValueError on all processes if the metric declares no direction.
template <class Run>
Mode resolve_mode(Mode mode, std::string_view callback, std::string_view monitor, Run const& run) {
  if (mode != Mode::automatic) return mode;
  constexpr std::string_view validation = "val_";
  std::string_view const metric = monitor.starts_with(validation) ? monitor.substr(validation.size()) : monitor;
  if (metric == "loss") return Mode::min;
  Direction const direction = run.direction(metric);
  if (direction == Direction::up) return Mode::max;
  if (direction == Direction::down) return Mode::min;
  raise_uniform(
      ValueError(formatted("{} cannot know whether more or less of '{}' is better, since no metric declares a "
                           "direction for it; set .mode to Mode::min or Mode::max",
                           callback, monitor)));
}

/// Warnings, once each, that a monitored value was missing or was not a number.
struct MonitorWarnings {
  bool missing = false;
  bool not_a_number = false;

  /// Warns that the logs have no value of the monitored name; `names` are those that they have. `then`: what follows
  /// from that for the callback.
  template <class Run>
  void on_missing(std::string_view callback, std::string_view monitor, Run& run, std::string_view names,
                  std::string_view then = "") {
    if (!missing) run.warning(formatted("warning: {} found no '{}' among: {}{}", callback, monitor, names, then));
    missing = true;
  }

  /// Warns if the monitored value is NaN.
  template <class Run>
  void on_value(std::string_view callback, std::string_view monitor, Run& run, double value) {
    if (!std::isnan(value)) return;
    if (!not_a_number) {
      run.warning(formatted("warning: {}: '{}' is NaN in epoch {}, which is never an improvement", callback, monitor,
                            run.epoch() + 1));
    }
    not_a_number = true;
  }
};

}  // namespace trireme
