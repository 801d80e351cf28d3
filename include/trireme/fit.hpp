/// The training loop: fit, evaluate and predict, for any strategy, any model and any callbacks.
///
/// Read this first. `compile` has had the strategy build this process's engine of the model, which trains on global
/// batches, tests, predicts and reports exact metrics. The callback list calls hooks and resolves requests to stop
/// among all processes. Nothing here depends on the strategy.
#pragma once

#include <cstddef>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "trireme/callbacks/callback_list.hpp"
#include "trireme/callbacks/history.hpp"
#include "trireme/callbacks/monitor.hpp"
#include "trireme/callbacks/output_files.hpp"
#include "trireme/callbacks/progress.hpp"
#include "trireme/callbacks/progress_bar.hpp"
#include "trireme/callbacks/run.hpp"
#include "trireme/compiled_model.hpp"
#include "trireme/core/config.hpp"
#include "trireme/core/phase.hpp"
#include "trireme/data/batch_iterator.hpp"
#include "trireme/data/data_passes.hpp"
#include "trireme/detail/leave_together.hpp"
#include "trireme/detail/training_call.hpp"
#include "trireme/models/inference_model.hpp"
#include "trireme/models/model_config.hpp"
#include "trireme/models/phase_totals.hpp"
#include "trireme/models/predictions.hpp"
#include "trireme/strategies/strategy.hpp"

namespace trireme {

/// Options of `fit`. Designated initializers name the members in this order: `{.epochs = 10, .verbose = false}`. With
/// `steps_per_epoch` epochs, those before `initial_epoch` too, go on in the data; the last of a pass has what is left.
/// \throws ValueError from `fit`, on all processes, if a step count or `validation_freq` is 0, or a class weight is
/// negative or not finite.
struct FitOptions {
  std::size_t epochs = 1;                        ///< in all, with those before initial_epoch, as in Keras
  std::size_t initial_epoch = 0;                 ///< epochs before this one count as done: the course goes on
  std::optional<std::size_t> steps_per_epoch{};  ///< batches of an epoch, at most those of the data
  std::size_t validation_freq = 1;               ///< validate after every so many epochs
  std::vector<double> class_weight{};            ///< weight of each class; excludes sample weights
  bool verbose = true;                           ///< a progress bar on the chief

  void config(Config& c) const {
    c("epochs", epochs, intervals::count);
    c("initial_epoch", initial_epoch, intervals::count);
    c("steps_per_epoch", steps_per_epoch, intervals::positive_count);
    c("validation_freq", validation_freq, intervals::positive_count);
    c("class_weight", class_weight, intervals::not_negative);
  }
};

/// Options of `evaluate`. Designated initializers name the members in this order.
/// \throws ValueError from `evaluate`, on all processes, if `steps` is 0.
struct EvaluateOptions {
  std::optional<std::size_t> steps{};  ///< batches, if not all; more than the data have are an error
  bool verbose = false;

  void config(Config& c) const { c("steps", steps, intervals::positive_count); }
};

namespace detail {

// The loops, the same for all strategies with engines of one type.
template <class Engine, class Model, class Train, class ValidationData, class... Callbacks>
History training_loop(PlacedModel<Engine, Model>&, Train const&, Validation<ValidationData> const&, FitOptions const&,
                      Callbacks&...);
template <class Engine, class Model, class Data, class... Callbacks>
Logs test_loop(PlacedModel<Engine, Model>&, Data const&, EvaluateOptions const&, Callbacks&...);
template <class Engine, class Model, class Data, class... Callbacks>
auto prediction_loop(PlacedModel<Engine, Model>&, Data const&, Callbacks&...);
template <class R, class Engine, class Batches, class List>
void test_pass(char const* call, R&, Engine&, Batches&, char const* prefix, List&);

}  // namespace detail

/// Trains the model on `train` and returns what each epoch logged. Collective over the strategy's processes. Source:
/// Keras `Model.fit`.
///
/// Samples have the model's input extents, targets the extents that its loss takes. Validation, if given as
/// `tr::validation(data)`, runs over all of its data after an epoch, spread over the processes. A process may have no
/// samples of its own. One thread at a time uses the model; others may call a predictor of it meanwhile.
///
/// Compile-time errors: one sentence that shows the right call, for arguments that are missing, swapped or of another
/// kind; a callback without hooks, with a hook of a wrong signature, or that monitors a value that is not logged; a
/// model compiled for inference.
/// \throws ShapeError on all processes if samples or targets do not fit the model.
/// \throws ValueError on all processes if data have no sample, or fewer batches than the requested steps: before
/// training if the number of batches is known, otherwise (from_generator) when the data end; if they have no end and
/// `steps_per_epoch` is not set; if a label, an index for an Embedding, or a number of options or callbacks is outside
/// of its range; if options or data differ between processes; if the model was moved from; if a hook calls it where
/// `fit` or `evaluate` of this model is summing loss and metrics that it would change.
/// \throws FileError if a callback cannot write or read its files; Interrupted on all processes if BackupAndRestore
/// saved the run because of a signal. An error that is thrown on some processes alone, as by a hook, ends all processes
/// with its message, unless the others throw one too: at once where nothing catches it, otherwise after
/// EnvironmentOptions::patience.
template <class Strategy, class CompiledModel, class Train, class ValidationData, class... Callbacks>
History fit(Strategy const&, CompiledModel& model, Train const& train, Validation<ValidationData> const& validation,
            FitOptions const& options, Callbacks&&... callbacks) {
  if constexpr (detail::require_call<Strategy, CompiledModel, Train, Callbacks...>() &&
                detail::require_validation<ValidationData>()) {
    static_assert(detail::require_trainable<typename CompiledModel::Model>());
    return detail::leave_together(
        model, "fit", [&] { return detail::training_loop(model, train, validation, options, callbacks...); });
  }
}

/// Training loop of `fit`.
template <class Engine, class Model, class Train, class ValidationData, class... Callbacks>
History detail::training_loop(PlacedModel<Engine, Model>& model, Train const& train,
                              Validation<ValidationData> const& validation, FitOptions const& options,
                              Callbacks&... callbacks) {
  using R = Run<PlacedModel<Engine, Model>>;
  constexpr bool validates = !std::is_same_v<ValidationData, NoData>;
  static_assert((require_callback<Callbacks, R>() && ...));
  static_assert((require_monitor<Callbacks, Model, validates, Callbacks...>() && ...));
  Engine& engine = model.engine();
  require_same_call("fit", Phase::train, engine, options, GivenData{validates}, callbacks...);
  model.totals().require_free(Phase::train, "fit"), model.settle("fit");
  if constexpr (validates) model.totals().require_free(Phase::test, "fit");
  DataPasses::Call passes(model.data_passes(), options.initial_epoch);
  History history;
  ProgressBar bar{.output = options.verbose ? stdout : nullptr};
  BatchIterator batches(engine, train,
                        {.role = IteratorRole::training,
                         .steps = options.steps_per_epoch,
                         .class_weight = options.class_weight,
                         .first_pass = passes.first()});
  BatchIterator tests(engine, validation.data, {.role = IteratorRole::validation});
  Progress progress{.epoch = options.initial_epoch};
  R run(model, progress, options.epochs, log_names<Model, validates, Callbacks...>(), options.validation_freq);
  CallbackList list(run, engine, progress, callbacks..., history, bar);
  if constexpr (saves_run<R, Callbacks...>)
    run.save_with([&](auto& archive) {
      archive("data", batches), archive("passes", passes);
      if constexpr (validates) archive("validation", tests);
      archive.together([&] { archive("callbacks", list.all()); });
    });

  try_outputs(list.all(), run);
  list.train_begin();
  list.train_resume();  // may set `progress` to that of a saved run
  if (batches.find_first_pass(progress.epoch, progress.batch) && progress.epoch > 0 && progress.batch == 0)
    passes.note_epoch(progress.epoch - 1, batches.first_pass(), batches.pass());
  while (progress.goes_on(options.epochs)) {
    batches.start(progress.epoch, progress.batch);
    run.begin_batches(batches.count(), progress.batch);
    PhaseTotals::Scope summing(model.totals(), Phase::train, "fit");
    if (progress.batch == 0) {
      engine.reset_metrics(Phase::train);
      run.clear_logs();
      list.epoch_begin();
    } else {
      list.epoch_resume(), run.set_batch(progress.batch - 1);  // the last one, if no other follows
    }
    require_same_changes<Callbacks...>(run, "fit");

    while ((!list.stop_requested() || progress.batch == 0) && batches.next()) {  // at least one, for the epoch's logs
      run.set_batch(batches.index());
      list.train_batch_begin();
      model.train_step(batches.batch());
      run.note_step();
      list.train_batch_end();
      ++progress.batch;
      list.save_point();
    }
    progress.stop_if(engine.finish_epoch());  // nothing is in flight, and all processes have the same weights
    batches.finish();
    require_same_changes<Callbacks...>(run, "fit");
    engine.verify_replicas();
    model.publish_trained();  // to models that share layers with this one
    run.log(Phase::train, "");
    summing.end();
    passes.note_epoch(progress.epoch, batches.first_pass(), batches.pass());

    if constexpr (validates)
      if ((progress.epoch + 1) % options.validation_freq == 0) test_pass("fit", run, engine, tests, "val_", list);
    list.epoch_end();
    progress.end_epoch();
    list.save_point();
  }
  list.train_end();
  require_same_changes<Callbacks...>(run, "fit");
  if (run.has_restored()) static_cast<void>(engine.finish_epoch()), engine.verify_replicas();
  model.publish_trained();  // a callback may have set other weights
  list.train_complete();
  return history;
}

/// Trains the model on `train` without validation; otherwise as `fit` with it. Collective.
template <class Strategy, class CompiledModel, class Train, class... Callbacks>
History fit(Strategy const& strategy, CompiledModel& model, Train const& train, FitOptions const& options,
            Callbacks&&... callbacks) {
  return fit(strategy, model, train, Validation<NoData>{}, options, std::forward<Callbacks>(callbacks)...);
}

/// Loss and metrics over all of `data`, or over its first `steps` batches, exact over all processes:
/// `logs.find("loss")`. Collective. Source: Keras `Model.evaluate`.
///
/// Compile-time errors: as of `fit`.
/// \throws ShapeError on all processes if samples or targets do not fit the model.
/// \throws ValueError on all processes if there is no sample, or fewer batches than steps; if the data have no end and
/// `steps` is not set; or as `fit` for labels, indices, options, hooks and a moved model. An error that is thrown on
/// some processes alone ends all processes as in `fit`.
template <class Strategy, class CompiledModel, class Data, class... Callbacks>
Logs evaluate(Strategy const&, CompiledModel& model, Data const& data, EvaluateOptions const& options = {},
              Callbacks&&... callbacks) {
  if constexpr (detail::require_call<Strategy, CompiledModel, Data, Callbacks...>()) {
    static_assert(detail::require_trainable<typename CompiledModel::Model>());
    return detail::leave_together(model, "evaluate",
                                  [&] { return detail::test_loop(model, data, options, callbacks...); });
  }
}

/// Test loop of `evaluate`.
template <class Engine, class Model, class Data, class... Callbacks>
Logs detail::test_loop(PlacedModel<Engine, Model>& model, Data const& data, EvaluateOptions const& options,
                       Callbacks&... callbacks) {
  Engine& engine = model.engine();
  require_same_call("evaluate", Phase::test, engine, options, callbacks...);
  model.totals().require_free(Phase::test, "evaluate"), model.settle("evaluate");
  Run<PlacedModel<Engine, Model>> run(model, log_names<Model, false, Callbacks...>());
  ProgressBar bar{.output = options.verbose ? stdout : nullptr};
  Progress progress;
  CallbackList list(run, engine, progress, callbacks..., bar);
  BatchIterator batches(engine, data, {.role = IteratorRole::test, .steps = options.steps});
  [[maybe_unused]] auto const mean = with_mean_weights(engine);
  test_pass("evaluate", run, engine, batches, "", list);
  require_same_changes<Callbacks...>(run, "evaluate");
  return run.logs();
}

/// Outputs of the model for all of `data`, in its order (of samples that each process owns: rank after rank), on every
/// process, as xtensor arrays: (samples, output extents...); of several outputs, an array (a tuple) of these. Targets
/// are not read. Data without samples give 0 rows. Collective. Source: Keras `Model.predict`.
///
/// Compile-time errors: as of `fit`.
/// \throws ShapeError on all processes if samples do not fit the model.
/// \throws ValueError on all processes if the data have no end, if an index for an Embedding is outside of its
/// vocabulary, or if the model was moved from. An error that is thrown on some processes alone ends all processes as in
/// `fit`.
template <class Strategy, class CompiledModel, class Data, class... Callbacks>
auto predict(Strategy const&, CompiledModel& model, Data const& data, Callbacks&&... callbacks) {
  if constexpr (detail::require_call<Strategy, CompiledModel, Data, Callbacks...>())
    return detail::leave_together(model, "predict", [&] { return detail::prediction_loop(model, data, callbacks...); });
}

/// Prediction loop of `predict`.
template <class Engine, class Model, class Data, class... Callbacks>
auto detail::prediction_loop(PlacedModel<Engine, Model>& model, Data const& data, Callbacks&... callbacks) {
  Engine& engine = model.engine();
  require_same_call("predict", Phase::test, engine, callbacks...);
  model.settle("predict");
  Run<PlacedModel<Engine, Model>> run(model, {});
  Progress progress;
  CallbackList list(run, engine, progress, callbacks...);
  BatchIterator batches(engine, data, {.role = IteratorRole::prediction});
  Predictions predictions(engine, data.is_local());
  [[maybe_unused]] auto const mean = with_mean_weights(engine);
  batches.start(0);
  run.begin_batches(batches.count());
  list.predict_begin();
  while (batches.next()) {
    run.set_batch(batches.index());
    list.predict_batch_begin();
    engine.predict_step(batches.batch(), predictions.next(batches.batch()));
    list.predict_batch_end();
  }
  batches.finish();
  list.predict_end();
  require_same_changes<Callbacks...>(run, "predict");
  return predictions.gather();
}

/// One pass over test data, logged under `prefix`. A request to stop does not end it: metrics are those of all data.
template <class R, class Engine, class Batches, class List>
void detail::test_pass(char const* call, R& run, Engine& engine, Batches& batches, char const* prefix, List& list) {
  PhaseTotals::Scope summing(run.model().totals(), Phase::test, call);
  engine.reset_metrics(Phase::test);
  batches.start(0);
  run.begin_test(batches.count());
  list.test_begin();
  while (batches.next()) {
    run.set_batch(batches.index());
    list.test_batch_begin();
    engine.test_step(batches.batch());
    list.test_batch_end();
  }
  batches.finish();
  run.log(Phase::test, prefix);
  summing.end();
  list.test_end();
  run.end_test();
}

}  // namespace trireme
