/// TensorBoard: writes the logs as event files for TensorBoard.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "trireme/callbacks/output_files.hpp"
#include "trireme/core/config.hpp"
#include "trireme/core/error.hpp"
#include "trireme/core/text.hpp"
#include "trireme/metrics/logs.hpp"
#ifdef TRIREME_HAVE_PROTOZERO
#include "trireme/io/event_file.hpp"
#endif

namespace trireme {

/// Interval in steps at which a TensorBoard writes training values; 0, UpdateFreq::epoch: at each epoch's end alone.
struct UpdateFreq {
  std::size_t batches = 0;  ///< 0: each epoch alone

  /// Interval of `every` steps; 0: each epoch alone.
  constexpr UpdateFreq(std::size_t every = 0) : batches(every) {}
  void config(Config& c, std::string_view name) const { c(name, batches, intervals::count); }

  static UpdateFreq const epoch;
  static UpdateFreq const batch;
};
inline constexpr UpdateFreq UpdateFreq::epoch{0};
inline constexpr UpdateFreq UpdateFreq::batch{1};

#ifdef TRIREME_HAVE_PROTOZERO

/// Event files of scalars for TensorBoard, in `<log_dir>/train` and `<log_dir>/validation`; Keras's `TensorBoard`:
///
/// - `epoch_<name>` over the epochs (from 0): the logs, those with `val_` in `validation` without that prefix, and
///   `epoch_learning_rate`;
/// - `batch_<name>` over the optimizer's steps: running values, if `update_freq` is a number. Each write is a
///   collective call, so that a small number slows training down;
/// - `evaluation_<name>_vs_iterations` over the optimizer's steps, in `validation`: a test's values.
///
/// Only the chief writes, to a new file for each run; the values of an epoch are on the disk at its end. A file that is
/// removed during the run, alone or with its folder, is made again by the next write, with a warning: earlier values
/// are lost. So are, with a warning, those that a full disk does not take. Designated initializers name the members in
/// this order.
///
/// Compile-time errors: a build without protozero.
/// \throws FileError from `fit`, on all processes, if a folder cannot be written to at the beginning.
struct TensorBoard {
  using logs_alike = void;  ///< what it logs is the same on all processes

  std::string log_dir = "logs";
  UpdateFreq update_freq = UpdateFreq::epoch;
  bool write_steps_per_second = false;  ///< `epoch_…` and `batch_steps_per_second`, by the chief's clock

  void config(Config& c) const {
    c("log_dir", log_dir);
    c("update_freq", update_freq);
    c("write_steps_per_second", write_steps_per_second);
  }

  // State of a run.
  struct Pace {
    std::uint64_t step = 0;
    std::chrono::steady_clock::time_point time{};
  };
  Pace epoch_begin{}, last_record{};
  /// Event file of the chief.
  struct Output {
    std::optional<io::EventFile> file{};
    bool removed = false;  ///< and could not be made again, as a warning has said
    bool full = false;     ///< the last events could not be written, as a warning has said
  };
  Output train{}, validation{};  ///< open while training, and `validation` in a test

  template <class Run>
  std::vector<OutputFile> output_files(Run const&) const {
    return {
        {.writer = "TensorBoard", .path = folder("train"), .kind = OutputFile::Kind::folder, .made_below = ""},
        {.writer = "TensorBoard", .path = folder("validation"), .kind = OutputFile::Kind::folder, .made_below = ""}};
  }

  template <class Run>
  void on_train_begin(Run& run) {
    auto const& names = run.log_names();
    bool const validates = std::any_of(names.begin(), names.end(), is_of_validation);
    run.on_chief(
        [](auto const&, TensorBoard* board, bool with_validation) {
          board->validation = {};
          board->train = {};
          board->train.file.emplace(board->folder("train"));
          if (with_validation) board->open_validation();
        },
        this, validates);
  }

  template <class Run>
  void on_epoch_begin(Run& run) {
    epoch_begin = last_record = {run.step(), std::chrono::steady_clock::now()};
  }

  template <class Run>
  void on_epoch_resume(Run& run) {
    on_epoch_begin(run);
  }

  template <class Run>
  void on_train_batch_end(Run& run) {
    std::uint64_t const step = run.step();
    if (update_freq.batches == 0 || step % update_freq.batches != 0) return;
    Events events;
    for (auto const& entry : run.metrics()) events.push_back({"batch_" + entry.name, step, entry.value.value()});
    if (write_steps_per_second) events.push_back({"batch_steps_per_second", step, steps_per_second(last_record, step)});
    last_record = {step, std::chrono::steady_clock::now()};
    write(run, events, {}, false);
  }

  template <class Run>
  void on_test_begin(Run& run) {  // of `evaluate`, there is no beginning of a training
    if (!is_of_fit(run)) run.on_chief([](auto const&, TensorBoard* board) { board->open_validation(); }, this);
  }

  template <class Run>
  void on_test_end(Run& run) {
    bool const training = is_of_fit(run);
    Events events;
    for (auto const& entry : run.logs()) {
      if (training && !is_of_validation(entry.name)) continue;
      events.push_back({"evaluation_" + entry.name.substr(training ? prefix.size() : 0) + "_vs_iterations", run.step(),
                        entry.value.value()});
    }
    write(run, {}, events);
    if (!training) validation = {};
  }

  template <class Run>
  void on_epoch_end(Run& run) {
    std::uint64_t const epoch = run.epoch();
    Events of_train, of_validation;
    for (auto const& entry : run.logs()) {
      if (is_of_validation(entry.name)) {
        of_validation.push_back({"epoch_" + entry.name.substr(prefix.size()), epoch, entry.value.value()});
      } else if (entry.name != "learning_rate") {  // a rate in the logs may be older
        of_train.push_back({"epoch_" + entry.name, epoch, entry.value.value()});
      }
    }
    of_train.push_back({"epoch_learning_rate", epoch, run.learning_rate().value()});
    if (write_steps_per_second) {
      of_train.push_back({"epoch_steps_per_second", epoch, steps_per_second(epoch_begin, run.step())});
    }
    write(run, of_train, of_validation);
  }

  template <class Run>
  void on_train_end(Run&) {
    train = {};
    validation = {};
  }

 private:
  using Events = std::vector<io::ScalarEvent>;
  using Warnings = std::vector<std::string>;

  static constexpr std::string_view prefix = "val_";

  static bool is_of_validation(std::string_view name) { return name.starts_with(prefix); }

  /// True in a run of `fit`. An error may have left one before its end, so that no hook says when training is over.
  template <class Run>
  static bool is_of_fit(Run const& run) {
    return run.epochs() > 0;
  }

  static double steps_per_second(Pace const& since, std::uint64_t step) {
    std::chrono::duration<double> const seconds = std::chrono::steady_clock::now() - since.time;
    return static_cast<double>(step - since.step) / seconds.count();
  }

  std::string folder(char const* run) const { return (std::filesystem::path(log_dir) / run).string(); }

  void open_validation() {
    validation = {};
    validation.file.emplace(folder("validation"));
  }

  /// Appends events to a file, on the chief. A file that was removed is made again before. Where that or the writing
  /// fails the events are lost. `warnings` gets one sentence for each removal and each time without room.
  static void append(Output& output, std::string const& folder, Events const& events, bool sync, Warnings& warnings) {
    if (events.empty()) return;
    bool const removed = output.file && !output.file->in_place();
    bool const first = !std::exchange(removed ? output.removed : output.full, true);
    try {
      if (removed) *output.file = io::EventFile(std::filesystem::path(output.file->path()).parent_path().string());
      if (!output.file) output.file.emplace(folder);  // values that another callback added
      output.file->write(events);
      if (sync) output.file->flush();
      output.removed = output.full = false;
    } catch (FileError const& error) {
      if (first && removed)
        warnings.push_back(formatted(
            "warning: TensorBoard: the events in {} were removed during the run, and later ones are lost too: {}",
            folder, error.what()));
      if (first && !removed)
        warnings.push_back(
            formatted("warning: TensorBoard: events in {} cannot be written, and are lost until they can: {}", folder,
                      error.what()));
      return;
    }
    if (first && removed)
      warnings.push_back(formatted(
          "warning: TensorBoard: the events in {} were removed during the run; a new file there has those that follow",
          folder));
  }

  template <class Run>
  void write(Run& run, Events const& of_train, Events const& of_validation, bool sync = true) {
    Warnings warnings;
    run.on_chief(
        [](auto const&, TensorBoard* board, Events const* for_train, Events const* for_validation, bool with_sync,
           Warnings* found) {
          append(board->train, board->folder("train"), *for_train, with_sync, *found);
          append(board->validation, board->folder("validation"), *for_validation, with_sync, *found);
        },
        this, &of_train, &of_validation, sync, &warnings);
    for (auto const& warning : warnings) run.warning(warning);
  }
};

#else

/// Options of TensorBoard in a build without protozero; passing it to `fit` or `evaluate` does not compile.
struct TensorBoard {
  using logs_alike = void;  ///< what it logs is the same on all processes

  std::string log_dir = "logs";
  UpdateFreq update_freq = UpdateFreq::epoch;
  bool write_steps_per_second = false;

  template <class Run>
  void on_train_begin(Run&) {
    require_protozero<Run>();
  }
  template <class Run>
  void on_test_begin(Run&) {
    require_protozero<Run>();
  }

 private:
  template <class Run>
  static consteval void require_protozero() {
    static_assert(sizeof(Run) == 0,
                  "trireme: TensorBoard needs protozero, which this build lacks: install it (Debian's "
                  "libprotozero-dev) and configure again with TRIREME_WITH_PROTOZERO=ON");
  }
};

#endif

}  // namespace trireme
