/// ModelCheckpoint: saves the model during training.
#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "trireme/callbacks/claimed_file.hpp"
#include "trireme/callbacks/improvement.hpp"
#include "trireme/callbacks/output_files.hpp"
#include "trireme/callbacks/path_template.hpp"
#include "trireme/callbacks/save_freq.hpp"
#include "trireme/core/config.hpp"
#include "trireme/core/error.hpp"
#include "trireme/core/fixed_string.hpp"
#include "trireme/core/text.hpp"
#include "trireme/io/checkpoint_file.hpp"
#include "trireme/io/file_claim.hpp"
#include "trireme/io/file_format.hpp"
#include "trireme/metrics/logs.hpp"

namespace trireme {

/// Weights and optimizer state in a file after each epoch or so many batches, or only where the monitored value
/// improves: `ModelCheckpoint<"val_loss">{.path = "best.weights.h5", .save_best_only = true}`. Decisions are those of
/// Keras's `ModelCheckpoint`, except that NaN is never an improvement, that a wrong field of `path` is an error before
/// training, and that `save_best_only` works with a number of batches too. With `save_best_only`, an epoch that
/// `validation_freq` leaves without the monitored value saves nothing, with one warning; Keras saves, over the best so
/// far. A value that no save would find is an error before training: one of validation with a number of batches, or one
/// that a later callback logs.
///
/// `path` ends in `.weights.h5` or `.npz`. It may hold `{epoch:02d}`, `{batch}` (both count from 1) and any logged
/// value, such as `{val_loss:.4f}`, that each epoch has before this callback's turn; folders whose names have fields
/// are made when they are needed, others have to exist. Saving is collective; the chief writes.
///
/// While `fit` runs no other run can have the same path, on any machine, for `ModelCheckpoint` or `BackupAndRestore`:
/// that is an error in one sentence, of the second one. `<path>.lock`, with the fields as they are written, says who
/// has it. A killed run has nothing any more. Where a folder's name has fields, or the file system no locks, there is
/// no check.
///
/// `save_freq` counts updates of the weights. If workers acquire batches (ParameterServerStrategy with a staleness),
/// the updates of all of them count, but only the chief saves, at the end of its first own batch after so many updates.
/// It thus saves late, or not at all if it gets no further batch in the epoch. Values in the path, and of the monitor,
/// are then those of its own batches. Designated initializers name the members in this order.
///
/// Compile-time errors: a monitored value that is not logged.
/// \throws ValueError from `fit`, on all processes, if `path` is empty or has a field that some save will not find, if
/// no save will find the value that `save_best_only` monitors, if `initial_value_threshold` is NaN, or `mode` is
/// automatic and the metric declares no direction.
/// \throws FileError from `fit`, on all processes, if the file cannot be written, if another run has it or has taken it
/// over while this one showed no sign of life, or if it holds a run that BackupAndRestore has saved.
template <FixedString Monitor = "val_loss">
struct ModelCheckpoint {
  using logs_alike = void;  ///< what it logs is the same on all processes

  static constexpr std::string_view monitor = Monitor.view();

  std::string path{};
  bool verbose = false;
  bool save_best_only = false;
  bool save_weights_only = false;  ///< as in Keras; there is no other form: a model's layers are the program's types
  Mode mode = Mode::automatic;
  SaveFreq save_freq = SaveFreq::epoch;
  std::optional<double> initial_value_threshold{};  ///< value that the first save has to improve on

  void config(Config& c) const {
    c("path", path);
    c("save_best_only", save_best_only);
    c("save_weights_only", save_weights_only);
    c("mode", mode);
    c("save_freq", save_freq);
    c("initial_value_threshold", initial_value_threshold, intervals::not_nan);
  }

  // State, kept from one fit to the next.
  std::optional<double> best{};
  std::size_t batches_since_save = 0;
  MonitorWarnings warnings{};
  Mode resolved_mode = Mode::automatic;
  std::weak_ptr<detail::FileClaim const> claim{};  // of the run

  /// \throws ValueError if the path has a field that no save will find, or no save will find the monitored value
  template <class Run>
  std::vector<OutputFile> output_files(Run const& run) const {
    if (save_best_only && save_freq.batches > 0) require_value_of_batches(run);
    std::vector<OutputFile> files{{.writer = "ModelCheckpoint",
                                   .path = path,
                                   .first = first_path(run),
                                   .logged = fields_to_log(),
                                   .monitor = save_best_only ? std::string(monitor) : "",
                                   .format = weights_file_format,
                                   .made_below = folder_above_fields(path)}};
    detail::list_lock(files, "ModelCheckpoint", path);
    return files;
  }

  template <class Run>
  void on_train_begin(Run& run) {
    try {
      resolved_mode = resolve_mode(mode, "ModelCheckpoint", monitor, run);
    } catch (Error& error) {
      error.mark_uniform();  // options and names are the same on every process
      throw;
    }
    if (!best) best = initial_value_threshold;
    claim = detail::claim_file(run, path);
    if (path_fields(path).empty())
      run.on_chief([](auto const&, std::string const& file) { CheckpointFile::require_none(file); }, path);
  }

  template <class Run>
  void on_train_batch_end(Run& run) {
    if (save_freq.batches == 0) return;
    batches_since_save += run.updates();
    if (batches_since_save < save_freq.batches) return;
    batches_since_save = 0;
    if (save_best_only || !value_fields().empty()) {
      save(run, run.metrics(), run.batch() + 1);
    } else {
      save(run, Logs{}, run.batch() + 1);
    }
  }

  template <class Run>
  void on_epoch_end(Run& run) {
    if (save_freq.batches == 0) save(run, run.logs(), 0);
  }

  template <class Archive>
  void state(Archive& archive) {
    archive("best", best);
    archive("batches_since_save", batches_since_save);
  }

 private:
  /// Refuses a monitored value that is logged at the end of epochs alone.
  template <class Run>
  static void require_value_of_batches(Run const& run) {
    Logs names;
    for (std::string_view const name : run.metric_names()) names.set(name, run.learning_rate());
    if (!names.find(monitor))
      throw ValueError(
          formatted("ModelCheckpoint: save_best_only monitors '{}', but during an epoch there are only: {}", monitor,
                    names.names()));
  }

  /// The path of a first save, filled in with a value for each name that a save will find.
  template <class Run>
  std::string first_path(Run const& run) const {
    if (path.empty()) throw ValueError("ModelCheckpoint needs a .path");
    bool const by_batch = save_freq.batches > 0;
    Logs names;
    auto const set = [&](auto const& all) {
      for (std::string_view const name : all) names.set(name, run.learning_rate());
    };
    if (by_batch)
      set(run.metric_names());  // there are neither validation values yet, nor those that callbacks add
    else
      set(run.log_names());
    for (std::string const& field : path_fields(path)) {
      if (field == "epoch" || (by_batch && field == "batch") || names.find(field)) continue;
      throw ValueError(formatted("ModelCheckpoint: the path '{}' has the field '{}', but {} only: epoch, {}{}", path,
                                 field, by_batch ? "during an epoch there are" : "at the end of an epoch there are",
                                 by_batch ? "batch, " : "", names.names()));
    }
    return fill_path(path, run.epoch() + 1, by_batch ? 1 : 0, names);
  }

  static void make_folder_of(std::string const& file) {
    std::error_code error;
    std::filesystem::create_directories(std::filesystem::path(file).parent_path(), error);
    if (error) throw FileError(file, formatted("its folder cannot be made: {}", error.message()));
  }

  /// Fields of the path that are logged values.
  std::vector<std::string> value_fields() const {
    auto fields = path_fields(path);
    std::erase_if(fields, [](auto const& field) { return field == "epoch" || field == "batch"; });
    return fields;
  }

  /// Fields that the end of an epoch has to log. The best value of validation is saved only where it is logged.
  std::vector<std::string> fields_to_log() const {
    if (save_freq.batches > 0) return {};
    auto fields = value_fields();
    if (save_best_only && monitor.starts_with("val_"))
      std::erase_if(fields, [](auto const& field) { return field == monitor; });
    return fields;
  }

  template <class Run>
  void save(Run& run, Logs const& logs, std::size_t batch) {
    std::string reason;
    if (save_best_only) {
      auto const current = logs.find(monitor);
      if (!current) {
        warnings.on_missing("ModelCheckpoint", monitor, run, logs.names(),
                            "; with save_best_only it saves nothing then");
        return;
      }
      warnings.on_value("ModelCheckpoint", monitor, run, current->value());
      if (!improves(resolved_mode, 0, current->value(), best)) return;
      reason = best ? formatted("{} improved from {:.5f} to {:.5f}, ", monitor, *best, current->value()) : "";
      best = current->value();
    }
    std::string const file = fill_path(path, run.epoch() + 1, batch, logs);
    if (verbose) run.message(formatted("Epoch {}: {}saving model to {}", run.epoch() + 1, reason, file));
    run.on_chief(
        [](auto const&, ModelCheckpoint const* checkpoint, std::string const& name) {
          if (folder_above_fields(checkpoint->path)) make_folder_of(name);
          if (auto const held = checkpoint->claim.lock()) held->require_held();
          CheckpointFile::require_none(name);
        },
        this, file);
    run.save_weights(file);
  }
};

}  // namespace trireme
