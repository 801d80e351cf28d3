/// ProgressBar: shows the progress of training, evaluation and prediction.
#pragma once

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdio>
#include <optional>
#include <string>

#include "trireme/callbacks/terminal.hpp"
#include "trireme/core/text.hpp"
#include "trireme/metrics/logs.hpp"

namespace trireme {

/// Moving bar on a terminal, or one line an epoch on other outputs: files, pipes of a launcher, and where TERM is dumb.
/// Only the chief shows it.
///
/// While an epoch runs it shows steps, time and what is left, which need no collective call; losses and metrics come at
/// its end. Colours are for terminals, and for none where NO_COLOR is set; a line is never wider than the terminal.
/// Designated initializers name the members in this order.
struct ProgressBar {
  std::FILE* output = stdout;      ///< null: silent
  std::optional<bool> terminal{};  ///< unset: detected
  /// On other outputs than terminals: time from line to line while an epoch runs, so that a job's log shows how far it
  /// is. 0: no such lines.
  std::chrono::milliseconds every = std::chrono::minutes(1);

  // State of the bar, within a run.
  bool training = false;
  bool shows = false;
  detail::Terminal look{};
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
          if (bar->shows) bar->look = detail::Terminal::of(bar->output, bar->terminal);
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
    drawn = look.moves ? Clock::time_point{} : started;
  }

  void advance() {
    ++steps;
    auto const interval = look.moves ? std::chrono::milliseconds(50) : every;
    if (!shows || interval.count() == 0) return;
    auto const now = Clock::now();
    if (now - drawn < interval) return;
    drawn = now;
    double const elapsed = std::chrono::duration<double>(now - started).count();
    double const step = elapsed / static_cast<double>(steps - first_step);
    std::string times = duration(elapsed);
    if (steps_expected != 0) {
      std::size_t const left = steps_expected - std::min(steps, steps_expected);
      times = duration(step * static_cast<double>(left)) + " left,";
    }
    times += ' ' + per_step(step);
    if (look.moves)
      print('\r' + with_bar(times, false) + "\x1b[K");
    else
      print(formatted("{} - {}\n", counted(), times));
  }

  void finish(Logs const& logs) {
    if (!shows) return;
    double const elapsed = std::chrono::duration<double>(Clock::now() - started).count();
    steps_expected = steps;
    std::string line = formatted("{} {}", duration(elapsed),
                                 per_step(steps > first_step ? elapsed / static_cast<double>(steps - first_step) : 0));
    for (auto const& entry : logs) line += formatted(" - {}: {}", entry.name, shown(entry.value.value()));
    print(look.moves ? '\r' + with_bar(line, true) + "\x1b[K\n" : formatted("{} - {}\n", counted(), line));
  }

  void print(std::string const& text) const {
    std::fwrite(text.data(), 1, text.size(), output);
    std::fflush(output);
  }

  std::string counted() const {
    if (steps_expected == 0) return formatted("{}/?", steps);
    std::string const total = formatted("{}", steps_expected);
    return formatted("{:>{}}/{}", steps, total.size(), total);
  }

  /// Steps, the bar and a text in ASCII. While an epoch runs the line gives up first the bar and then the text's end to
  /// fit the terminal; a line that stays is whole.
  std::string with_bar(std::string const& text, bool stays) const {
    std::string line = counted();
    std::size_t const taken = line.size() + text.size() + 3;  // with two blanks, and a last column that stays free
    std::size_t const room = look.columns > taken ? look.columns - taken : 0;
    std::size_t const width = std::min<std::size_t>(20, stays ? 20 : room);
    if (steps_expected != 0 && width >= 5) line += ' ' + bar(width);
    if (stays || room > 0) return line + ' ' + text;
    return (line + ' ' + text).substr(0, look.columns - 1);
  }

  std::string bar(std::size_t width) const {
    std::size_t const full = steps_expected == 0 ? width : std::min(width, width * steps / steps_expected);
    std::string text = look.colours ? "\x1b[32m" : "";
    for (std::size_t i = 0; i < full; ++i) text += look.utf8 ? "━" : "=";
    if (look.colours) text += "\x1b[0m";
    for (std::size_t i = full; i < width; ++i) text += look.utf8 ? "─" : ".";
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
