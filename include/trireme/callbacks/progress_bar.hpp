/// ProgressBar: shows the progress of training, evaluation and prediction.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <optional>
#include <string>

#include "trireme/callbacks/terminal.hpp"
#include "trireme/core/text.hpp"
#include "trireme/metrics/logs.hpp"

namespace trireme {

/// Progress of a call as a moving bar on a terminal, or as one line an epoch on other outputs: files, pipes of a
/// launcher, and where TERM is dumb. Only the chief shows it; `fit` has one unless `verbose` is false.
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

  void advance();

  void finish(Logs const& logs);

  void print(std::string const& text) const;

  std::string counted() const;

  /// Steps, the bar and a text in ASCII. While an epoch runs the line gives up first the bar and then the text's end to
  /// fit the terminal; a line that stays is whole.
  std::string with_bar(std::string const& text, bool stays) const;

  std::string bar(std::size_t width) const;

  /// "12s", "3:25", "1:02:45"
  static std::string duration(double seconds);

  static std::string per_step(double seconds);

  static std::string shown(double value);
};

}  // namespace trireme

#ifndef TRIREME_COMPILED
#include "trireme/callbacks/progress_bar.ipp"
#endif
