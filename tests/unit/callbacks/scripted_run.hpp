/// A run whose logs are written down beforehand: what `fit` gives to callbacks, without a model.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "trireme/callbacks/snapshot.hpp"
#include "trireme/core/error.hpp"
#include "trireme/core/phase.hpp"
#include "trireme/metrics/direction.hpp"
#include "trireme/metrics/logs.hpp"

namespace trireme::test {

inline Uniform<double> uniform(double value) { return trireme::detail::UniformAccess::make(value); }

/// The "weights" are one integer, so that a test sees whose they are.
struct ScriptedRun {
  std::size_t epoch() const { return epoch_now; }
  std::size_t epochs() const { return epoch_count; }
  std::size_t validation_freq() const { return epochs_to_validation; }
  std::size_t batch() const { return batch_now; }
  std::size_t updates() const { return 1; }
  std::size_t processes() const { return process_count; }
  Logs& logs() { return epoch_logs; }
  Uniform<double> loss() {
    ++collectives;
    return batch_logs.find("loss").value();
  }
  Logs const& metrics(Phase = Phase::train) {
    ++collectives;
    return batch_logs;
  }
  std::vector<std::string> const& log_names() const { return names; }
  std::vector<std::string> const& metric_names() const { return metrics_named; }
  Uniform<double> learning_rate() const { return uniform(rate); }
  void set_learning_rate(double value) { rate = value; }
  static bool has_schedule() { return false; }
  SnapshotHandle<int> snapshot() const { return {.weights = weights}; }
  void restore(SnapshotHandle<int> const& handle) { weights = handle.weights; }
  void save_weights(std::string const& path) { saved.push_back(path); }
  Direction direction(std::string_view metric) const {
    if (metric == "accuracy") return Direction::up;
    if (metric == "mae") return Direction::down;
    return Direction::none;
  }
  struct ChiefScope {};
  /// Of a chief elsewhere a result is true, a text empty.
  template <class Function, class... Arguments>
  auto on_chief(Function function, Arguments... arguments) {
    using Result = decltype(function(ChiefScope{}, arguments...));
    ++collectives;
    if (is_chief) return function(ChiefScope{}, arguments...);
    if constexpr (std::is_arithmetic_v<Result>)
      return Result(true);
    else
      return Result();
  }
  void hold(std::shared_ptr<void const>) {}  // claims of files end at once
  void message(std::string const& text) { messages.push_back(text); }
  void warning(std::string const& text) { messages.push_back(text); }

  std::size_t epoch_now = 0;
  std::size_t epoch_count = 1, epochs_to_validation = 1;
  std::size_t batch_now = 0;
  Logs epoch_logs;
  Logs batch_logs;
  std::vector<std::string> names, metrics_named{"loss"};
  std::size_t process_count = 2;
  double rate = 1;
  int weights = 0;
  bool is_chief = true;
  std::size_t collectives = 0;
  std::vector<std::string> saved;
  std::vector<std::string> messages;
};

}  // namespace trireme::test
