/// ProgressBar: shows the progress of training, evaluation and prediction.
#pragma once

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdio>
#include <optional>
#include <string>

#include <unistd.h>

#include "trireme/core/text.hpp"
#include "trireme/metrics/logs.hpp"

namespace trireme {

/// Moving bar on a terminal, or one line an epoch on other outputs. Only the chief shows it.
///
/// While an epoch runs it shows steps and time, which need no collective call; losses and metrics come at its end.
/// Designated initializers name the members in this order.
struct ProgressBar {
  std::FILE* output = stdout;      ///< null: silent
  std::optional<bool> terminal{};  ///< unset: detected

  // State of the bar, within a run.
  bool training = false;
  bool shows = false;
  bool moves = false;
  std::size_t steps = 0;
  std::size_t first_step = 0;      ///< steps of the epoch that an earlier process took
  std::size_t steps_expected = 0;  ///< 0: not known yet
  std::chrono::steady_clock::time_point started{};
  std::chrono::steady_clock::time_point drawn{};

  template <class Run>
  void on_train_begin(Run& run) {
    training = true;
    steps_expected = 0;
    find_out(run);
  }

  template <class Run>
  void on_epoch_begin(Run& run) {
    if (shows) print(formatted("Epoch {}/{}\n", run.epoch() + 1, run.epochs()));
    start(run);
  }

  template <class Run>
  void on_epoch_resume(Run& run) {
    on_epoch_begin(run);
    steps = first_step = run.progress().batch;
  }

  template <class Run>
  void on_train_batch_end(Run& run) {
    steps = std::max(steps, static_cast<std::size_t>(run.batch()));  // others may have trained on some
    advance();
  }

  template <class Run>
  void on_epoch_end(Run& run) {
    finish(run.logs());
  }

  template <class Run>
  void on_train_end(Run&) {
    training = false;
  }

  template <class Run>
  void on_test_begin(Run& run) {
    if (!training) begin_alone(run);
  }

  template <class Run>
  void on_test_batch_end(Run&) {
    if (!training) advance();
  }

  template <class Run>
  void on_test_end(Run& run) {
    if (!training) finish(run.logs());
  }

  template <class Run>
  void on_predict_begin(Run& run) {
    begin_alone(run);
  }

  template <class Run>
  void on_predict_batch_end(Run&) {
    advance();
  }

  template <class Run>
  void on_predict_end(Run&) {
    finish(Logs{});
  }

 private:
  using Clock = std::chrono::steady_clock;

  /// Determines on the chief whether to show a bar. The only collective call.
  template <class Run>
  void find_out(Run& run) {
    run.on_chief(
        [](auto const&, ProgressBar* bar) {
          bar->shows = bar->output != nullptr;
          bar->moves = bar->shows && (bar->terminal ? *bar->terminal : isatty(fileno(bar->output)) == 1);
        },
        this);
  }

  template <class Run>
  void begin_alone(Run& run) {
    steps_expected = 0;
    find_out(run);
    start(run);
  }

  template <class Run>
  void start(Run& run) {
    steps = first_step = 0;
    if constexpr (requires { std::size_t{run.batches()}; }) steps_expected = run.batches();
    started = Clock::now();
    drawn = {};
  }

  void advance() {
    ++steps;
    if (!moves) return;
    auto const now = Clock::now();
    if (now - drawn < std::chrono::milliseconds(50)) return;
    drawn = now;
    double const elapsed = std::chrono::duration<double>(now - started).count();
    double const step = elapsed / static_cast<double>(steps - first_step);
    if (steps_expected == 0) {
      print(formatted("\r{}/? {} {}\x1b[K", steps, duration(elapsed), per_step(step)));
      return;
    }
    std::size_t const left = steps_expected - std::min(steps, steps_expected);
    print(formatted("\r{} {} {} left, {}\x1b[K", counted(), bar(), duration(step * static_cast<double>(left)),
                    per_step(step)));
  }

  void finish(Logs const& logs) {
    if (!shows) return;
    double const elapsed = std::chrono::duration<double>(Clock::now() - started).count();
    steps_expected = steps;
    std::string line = moves ? formatted("\r{} {} ", counted(), bar()) : formatted("{} - ", counted());
    line += formatted("{} {}", duration(elapsed),
                      per_step(steps > first_step ? elapsed / static_cast<double>(steps - first_step) : 0));
    for (auto const& entry : logs) line += formatted(" - {}: {}", entry.name, shown(entry.value.value()));
    print(line + (moves ? "\x1b[K\n" : "\n"));
  }

  void print(std::string const& text) const {
    std::fwrite(text.data(), 1, text.size(), output);
    std::fflush(output);
  }

  std::string counted() const {
    std::string const total = formatted("{}", steps_expected);
    return formatted("{:>{}}/{}", steps, total.size(), total);
  }

  std::string bar() const {
    constexpr std::size_t width = 20;
    std::size_t const full = steps_expected == 0 ? width : std::min(width, width * steps / steps_expected);
    std::string text;
    for (std::size_t i = 0; i < width; ++i) text += i < full ? "━" : "─";
    return text;
  }

  /// "12s", "3:25", "1:02:45"
  static std::string duration(double seconds) {
    auto const s = static_cast<long>(seconds);
    if (s >= 3600) return formatted("{}:{:02}:{:02}", s / 3600, s / 60 % 60, s % 60);
    if (s >= 60) return formatted("{}:{:02}", s / 60, s % 60);
    return formatted("{}s", s);
  }

  static std::string per_step(double seconds) {
    if (seconds >= 1) return formatted("{:.0f}s/step", seconds);
    if (seconds >= 1e-3) return formatted("{:.0f}ms/step", seconds * 1e3);
    return formatted("{:.0f}us/step", seconds * 1e6);
  }

  static std::string shown(double value) {
    return std::abs(value) > 1e-3 || value == 0 ? formatted("{:.4f}", value) : formatted("{:.4e}", value);
  }
};

}  // namespace trireme
