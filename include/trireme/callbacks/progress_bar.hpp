/// ProgressBar: shows the progress of training, evaluation and prediction.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <optional>
#include <string>

#include "trireme/callbacks/terminal.hpp"
#include "trireme/core/phase.hpp"
#include "trireme/core/text.hpp"
#include "trireme/metrics/logs.hpp"

namespace trireme {

/// Progress of a call as a moving bar on a terminal, or as one line an epoch on other outputs: files, pipes of a
/// launcher, and where TERM is dumb. Only the chief shows it; `fit` has one unless `verbose` is false.
///
/// While an epoch runs it shows steps, time and what is left, and in a run of one process the running loss and metrics.
/// With several processes these would be a collective call, and come at the epoch's end. Colours are for terminals, and
/// for none where NO_COLOR is set; a line is never wider than the terminal. The bar narrows, in steps of five columns,
/// where the text behind it needs more room, and does not widen again in the same call. Designated initializers name
/// the members in this order.
struct ProgressBar {
  using logs_alike = void;  ///< what it logs is the same on all processes

  std::FILE* output = stdout;      ///< null: silent
  std::optional<bool> terminal{};  ///< unset: detected
  /// On other outputs than terminals: time from line to line while an epoch runs, so that a job's log shows how far it
  /// is. 0: no such lines.
  std::chrono::milliseconds every = std::chrono::minutes(1);

  static constexpr std::size_t widest_bar = 20;

  // State of the bar, within a run.
  bool shows = false;
  detail::Terminal look{};
  std::size_t steps = 0;
  std::size_t first_step = 0;      ///< steps of the epoch that an earlier process took
  std::size_t steps_expected = 0;  ///< 0: not known yet
  std::size_t bar_width = widest_bar;
  std::chrono::steady_clock::time_point started{};
  std::chrono::steady_clock::time_point drawn{};

  template <class Run>
  void on_train_begin(Run& run) {
    reset();
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
    advance(run, Phase::train);
  }

  template <class Run>
  void on_epoch_end(Run& run) {
    finish(run.logs());
  }

  template <class Run>
  void on_test_begin(Run& run) {
    if (!is_of_fit(run)) begin_alone(run);
  }

  template <class Run>
  void on_test_batch_end(Run& run) {
    if (!is_of_fit(run)) advance(run, Phase::test);
  }

  template <class Run>
  void on_test_end(Run& run) {
    if (!is_of_fit(run)) finish(run.logs());
  }

  template <class Run>
  void on_predict_begin(Run& run) {
    begin_alone(run);
  }

  template <class Run>
  void on_predict_batch_end(Run&) {
    ++steps;
    if (is_due()) draw(Logs{});
  }

  template <class Run>
  void on_predict_end(Run&) {
    finish(Logs{});
  }

 private:
  using Clock = std::chrono::steady_clock;

  /// True in a run of `fit`. An error may have left one before its end, so that no hook says when training is over.
  template <class Run>
  static bool is_of_fit(Run const& run) {
    return run.epochs() > 0;
  }

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

  /// State at the begin of a call.
  void reset() {
    steps_expected = 0;
    bar_width = widest_bar;
  }

  template <class Run>
  void begin_alone(Run& run) {
    reset();
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

  template <class Run>
  void advance(Run& run, Phase phase) {
    ++steps;
    if (is_due()) draw(run.processes() == 1 ? Logs(run.metrics(phase)) : Logs{});
  }

  /// True as often as a line is drawn; notes the time.
  bool is_due();

  /// The line of a running epoch or test.
  void draw(Logs const& running);

  void finish(Logs const& logs);

  void print(std::string const& text) const;

  std::string counted() const;

  /// Steps, the bar and a text. While an epoch runs the line gives up first the bar and then the text's end to fit the
  /// terminal; a line that stays has a whole text, and the bar of the line before.
  std::string with_bar(std::string const& text, bool stays);

  std::string bar() const;

  /// "12s", "3:25", "1:02:45"
  static std::string duration(double seconds);

  static std::string per_step(double seconds);

  /// " - loss: 0.2500 - accuracy: 0.9000"
  static std::string shown(Logs const& logs);
};

}  // namespace trireme

#ifndef TRIREME_COMPILED
#include "trireme/callbacks/progress_bar.ipp"
#endif
