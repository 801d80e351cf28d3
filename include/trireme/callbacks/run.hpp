/// Run: the argument of a callback's hooks, with the state of training, its values and its controls.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "trireme/callbacks/archive.hpp"
#include "trireme/callbacks/checkpoint.hpp"
#include "trireme/callbacks/hook_changes.hpp"
#include "trireme/callbacks/placement.hpp"
#include "trireme/callbacks/progress.hpp"
#include "trireme/callbacks/snapshot.hpp"
#include "trireme/callbacks/terminal.hpp"
#include "trireme/core/config.hpp"
#include "trireme/core/hash.hpp"
#include "trireme/core/phase.hpp"
#include "trireme/core/text.hpp"
#include "trireme/io/checkpoint_file.hpp"
#include "trireme/metrics/direction.hpp"
#include "trireme/metrics/logs.hpp"
#include "trireme/models/model_config.hpp"
#include "trireme/mpi/fault/messages.hpp"
#include "trireme/mpi/fault/status_record.hpp"
#include "trireme/mpi/same_config.hpp"
#include "trireme/mpi/uniform.hpp"

namespace trireme {

/// Argument of a callback's hooks: a run of `fit`, `evaluate` or `predict` over a PlacedModel. Members are local unless
/// they say "collective".
template <class PlacedModel>
class Run {
  using Engine = typename PlacedModel::Engine;
  using Model = typename PlacedModel::Model;

 public:
  using holds_communicator = void;

  /// Run of `fit`, with the loop's progress.
  Run(PlacedModel& model, Progress& progress, std::size_t epochs, std::vector<std::string> log_names,
      std::size_t validation_freq = 1)
      : model_(&model),
        progress_(&progress),
        epochs_(epochs),
        validation_freq_(validation_freq),
        log_names_(std::move(log_names)) {}
  /// Run of `evaluate` or `predict`.
  Run(PlacedModel& model, std::vector<std::string> log_names) : model_(&model), log_names_(std::move(log_names)) {}
  Run(Run const&) = delete;
  Run& operator=(Run const&) = delete;

  std::size_t epoch() const { return progress_->epoch; }  ///< from 0; at a save point, epochs that are complete
  std::size_t epochs() const { return epochs_; }  ///< after which training ends unless stopped; 0 outside of `fit`
  std::size_t validation_freq() const { return validation_freq_; }  ///< epochs from one validation to the next
  std::size_t batch() const { return batch_; }  ///< from 0 in its epoch or test; where one begins or resumes, the next
  std::size_t batches() const { return batches_; }             ///< of an epoch, or of the test; 0 if that is not known
  std::uint64_t step() const { return engine().iteration(); }  ///< optimizer steps so far, over all fits

  /// Optimizer steps since this process's previous batch: 1 if every process takes every step.
  std::size_t updates() const { return engine().updates(); }
  std::size_t processes() const { return engine().group().size(); }  ///< that take part in the run

  /// Values of the epoch; while a test runs within it, the values logged before. Callbacks may add to them and replace
  /// them, the same on every process. Values that differ end the run with an error of all processes, before a callback
  /// that declares a `monitor` decides by them, or else where learning rates are compared; they are not compared where
  /// workers of a ParameterServerStrategy go their own pace.
  Logs& logs() { return logs_; }
  Logs const& logs() const { return logs_; }
  /// Names that will be logged by the end of an epoch.
  std::vector<std::string> const& log_names() const { return log_names_; }

  /// Running mean of the epoch's loss. Collective.
  Uniform<double> loss() const {
    return engine().metrics(Phase::train).map([](auto const& values) { return detail::unsigned_nan(values[0]); });
  }
  /// Running values of the epoch, or of the test that runs. Collective.
  Logs metrics(Phase phase = Phase::train) const {
    Logs logs;
    log_metrics(phase, "", logs);
    return logs;
  }
  /// Names of the values that `metrics` returns.
  static constexpr auto const& metric_names() { return Model::log_names; }
  /// The direction that the compiled metric declares; `none` for a name that no metric has.
  Direction direction(std::string_view metric) const {
    auto const& names = Model::log_names;
    auto const found = std::find(names.begin(), names.end(), metric);
    return found == names.end() ? Direction::none
                                : Model::log_directions[static_cast<std::size_t>(found - names.begin())];
  }

  /// The rate of the next step, the same everywhere since every process makes the same steps.
  Uniform<double> learning_rate() const { return detail::UniformAccess::make(engine().optimizer().learning_rate()); }
  /// True if the optimizer's schedule decides the rate, which cannot be set then.
  bool has_schedule() const { return engine().optimizer().has_schedule(); }
  /// Sets the rate of the next step; every process has to set the same. Rates that differ end the run with an error of
  /// all processes, before the next epoch's first step, or at the end of the epoch or the run.
  /// \throws ValueError if the optimizer has a schedule, or the rate is negative or not finite.
  void set_learning_rate(double rate) {
    engine().optimizer().set_learning_rate(rate);
    changes_.note_rate(step(), rate);
  }

  /// Copy of the model's weights in the memory of its space, which `restore` sets again. Under LocalSGD and strategies
  /// like it processes have the same weights at the end of an epoch only.
  auto snapshot() const {
    return SnapshotHandle<decltype(engine().weights().snapshot())>{.weights = engine().weights().snapshot(),
                                                                   .moment = {.step = step(), .history = history()}};
  }
  /// Sets the model's weights to those of a snapshot that this process has made. Every process has to restore one of
  /// the same moment, after the same step. One that restores others, or more often, ends the run with an error of all
  /// processes, before the next epoch's first step, or at the end of the epoch or the run.
  template <class Weights>
  void restore(SnapshotHandle<Weights> const& snapshot) {
    engine().weights().restore(snapshot.weights);
    model_->note_restored();
    changes_.note_restore(step(), snapshot.moment.step, snapshot.moment.history, history());
  }
  /// The same with weights of the engine, whose moment is not known and not compared.
  template <class Weights>
  void restore(Weights const& weights) {
    restore(SnapshotHandle<Weights>{.weights = weights});
  }

  /// Writes weights and optimizer state to one file that is whole or absent. Collective.
  /// \throws FileError on all processes if the file cannot be written.
  void save_weights(std::string const& path) const {
    model_->save_weights(path);
    if (engine().saves_here()) detail::noted_checkpoints().note(path);
  }

  /// Saves the complete state of the run in one file (.h5 or .npz), and keeps the file before it as `<path>.previous`.
  /// In on_save_point alone. Collective. \throws FileError on all processes; ValueError on all if they name different
  /// files
  void save(std::string const& path) {
    static_assert(require_resumable_engine<Engine>());
    require_rest("saved in on_save_point");
    engine().require_together("saving the run");
    require_same_path("save", path, Placement::same);
    model_->settle("save");
    save_checkpoint(engine(), *this, CheckpointFile(path));
    detail::noted_checkpoints().note(path);
  }
  /// Resumes the saved run; in on_train_resume alone. False if there is no file. Under `Placement::any` other numbers
  /// of processes and threads may have saved it; a message then says how far results agree. Collective.
  /// \throws FileError on all processes, if the file holds a run of another model, other data, or another placement
  bool resume(std::string const& path, Placement placement = Placement::same) {
    static_assert(require_resumable_engine<Engine>());
    require_rest("resumed in on_train_resume");
    require_same_path("resume", path, placement);
    if (!load_checkpoint(engine(), *this, CheckpointFile(path), placement)) return false;
    model_->publish_resumed(progress_->batch > 0);
    return true;
  }
  /// Progress of training: complete epochs, batches of the next one, and the agreed decision to stop.
  Progress const& progress() const { return *progress_; }

  /// Model of the run.
  PlacedModel& model() { return *model_; }

  /// True on all processes if it is on any. Collective.
  Uniform<bool> agree(bool request) const { return engine().agree(request); }

  /// Calls f(ChiefScope const&, arguments...) on the chief alone; f has no captures. Collective: all processes throw
  /// its exception.
  template <class F, class... Arguments>
  auto on_chief(F&& f, Arguments&&... arguments) const {
    return engine().on_chief(std::forward<F>(f), std::forward<Arguments>(arguments)...);
  }
  /// Prints one line to the user, on the chief. Training goes on where stdout does not take it, such as on a full disk.
  void message(std::string_view text) const {
    if (!engine().group().is_chief()) return;
    std::string const line = formatted("{}{}\n", detail::over_a_bar(stdout), text);
    std::fwrite(line.data(), 1, line.size(), stdout);
    std::fflush(stdout);
  }
  /// Prints one line for which the user has not asked, on the chief, unless EnvironmentOptions::messages is null.
  void warning(std::string_view text) const {
    if (detail::messages() != nullptr) message(text);
  }

  /// Keeps what a callback of the library needs until the run ends, whatever ends it.
  void hold(std::shared_ptr<void const> object) { held_.push_back(std::move(object)); }

  // For the loop alone.
  /// Sets `rest(archive)`, which names the values of a checkpoint besides the run itself and its model.
  template <class Rest>
  void save_with(Rest const& rest) {
    if constexpr (ResumableEngine<Engine>) rest_ = rest;
  }
  /// Empty logs, for an epoch that begins.
  void clear_logs() {
    if (!engine().acquires_batches()) changes_.note_logs(logs_);
    logs_.clear();
  }
  /// Begins, at batch `first`, an epoch or a test of so many batches; 0 if their number is not known.
  void begin_batches(std::size_t batches, std::size_t first = 0) {
    batch_ = first;
    batches_ = batches;
    note_step();
  }
  /// Begins the batches of a test.
  void begin_test(std::size_t batches) {
    trained_ = {batch_, batches_};
    begin_batches(batches);
  }
  /// Brings the batches of training back.
  void end_test() { std::tie(batch_, batches_) = trained_; }
  /// Index of the batch within its epoch or test, from 0.
  void set_batch(std::size_t batch) {
    batch_ = batch;
    note_step();
  }
  /// Notes the step of `fit` in this process's status record, for messages; a test alone has no epoch.
  void note_step() const { trains() ? detail::status().at(epoch(), step()) : detail::status().touch(); }
  /// Throws on all processes where hooks of one have set other learning rates, restored other weights, logged other
  /// values or decided otherwise on the end of training. Collective.
  void require_same_changes(char const* call) const {
    if (processes() == 1) return;
    detail::require_same_config(engine().group(), call, [&](Config& c) {
      detail::list_learning_rate(c, engine());
      c.add("the decision to stop training:", progress_->stop ? "yes" : "no");
      changes_.list(c);
      if (!engine().acquires_batches()) changes_.list_logs(c, logs_);  // there hooks of a batch are local
    });
  }
  /// True if hooks have restored weights.
  bool has_restored() const { return changes_.restores() > 0; }
  /// Sets the phase's values in the epoch's logs. Collective.
  void log(Phase phase, std::string_view prefix) { log_metrics(phase, prefix, logs_); }

  /// State for checkpoints: all of a run except the model's weights and slots. Collective.
  template <class StateArchive>
  void state(StateArchive& archive) {
    archive("position", *progress_);
    archive("logs", logs_);
    std::uint64_t step = engine().iteration();
    archive("step", step);
    engine().optimizer().set_iteration(step);
    if (!engine().optimizer().has_schedule()) {  // exact to the bit, unlike in a file of weights
      double rate = engine().optimizer().learning_rate();
      archive("learning_rate", rate);
      engine().optimizer().set_learning_rate(rate);
    }
    rest_(archive);
  }

 private:
  Engine& engine() const { return model_->engine(); }
  bool trains() const { return progress_ != &idle_; }

  /// Hash of what has set weights between steps.
  std::uint64_t history() const {
    std::uint64_t const numbers[]{changes_.restores_hash(), model_->weight_changes()};
    return data::hash_bytes(numbers, sizeof(numbers));
  }

  void require_rest(std::string_view where) const {
    if (!rest_)
      raise_uniform(ValueError(formatted("a run is {} alone, by a callback of fit that has this hook", where)));
  }

  void require_same_path(char const* call, std::string const& path, Placement placement) const {
    detail::require_same_config(engine().group(), call, [&](Config& c) {
      c.add("the path", path);
      c("the placement", placement);
    });
  }

  void log_metrics(Phase phase, std::string_view prefix, Logs& logs) const {
    auto const values = engine().metrics(phase);
    for (std::size_t i = 0; i < Model::log_names.size(); ++i)
      logs.set(formatted("{}{}", prefix, Model::log_names[i]), values.map([i](auto const& all) { return all[i]; }));
  }

  PlacedModel* model_;
  Progress idle_{};
  Progress* progress_ = &idle_;
  std::size_t epochs_ = 0, validation_freq_ = 1;
  std::vector<std::string> log_names_;
  std::function<void(Archive<Engine>&)> rest_{};
  std::vector<std::shared_ptr<void const>> held_{};
  std::size_t batch_ = 0, batches_ = 0;
  std::pair<std::size_t, std::size_t> trained_{};  ///< both of training, while a test runs
  detail::HookChanges changes_;
  Logs logs_;
};

}  // namespace trireme
