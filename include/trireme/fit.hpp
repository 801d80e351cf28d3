/// The training loop: fit, evaluate and predict, for any strategy, any model and any callbacks.
///
/// Read this first. A strategy has placed the model (`compile`), and this process's part of it can take a step of the
/// global batch, test, predict and report exact metrics; callbacks are told of it; what they wish becomes a decision of
/// all processes. Nothing here asks which strategy it is.
#pragma once

#include <cstddef>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "trireme/callbacks/dispatch.hpp"
#include "trireme/callbacks/history.hpp"
#include "trireme/callbacks/monitor.hpp"
#include "trireme/callbacks/output_files.hpp"
#include "trireme/callbacks/position.hpp"
#include "trireme/callbacks/progress_bar.hpp"
#include "trireme/callbacks/run.hpp"
#include "trireme/compiled_model.hpp"
#include "trireme/core/config.hpp"
#include "trireme/data/feed.hpp"
#include "trireme/detail/training_call.hpp"
#include "trireme/models/inference_model.hpp"
#include "trireme/models/model_config.hpp"
#include "trireme/models/predictions.hpp"
#include "trireme/strategies/strategy.hpp"

namespace trireme {

/// Designated initializers name the members in this order: `{.epochs = 10, .verbose = false}`.
struct FitOptions {
  std::size_t epochs = 1;
  std::size_t initial_epoch = 0;                 ///< epochs before this one count as done
  std::optional<std::size_t> steps_per_epoch{};  ///< batches of an epoch; more than the data have are an error
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

/// Designated initializers name the members in this order.
struct EvaluateOptions {
  std::optional<std::size_t> steps{};  ///< batches, if not all; more than the data have are an error
  bool verbose = false;

  void config(Config& c) const { c("steps", steps, intervals::positive_count); }
};

namespace detail {

// The loops, the same for all strategies that place parts of one type.
template <class Part, class Model, class Train, class ValidationData, class... Callbacks>
History training_loop(PlacedModel<Part, Model>&, Train const&, Validation<ValidationData> const&, FitOptions const&,
                      Callbacks&...);
template <class Part, class Model, class Data, class... Callbacks>
Logs test_loop(PlacedModel<Part, Model>&, Data const&, EvaluateOptions const&, Callbacks&...);
template <class Part, class Model, class Data, class... Callbacks>
auto prediction_loop(PlacedModel<Part, Model>&, Data const&, Callbacks&...);
template <class R, class Part, class Batches, class Told>
bool test_pass(R&, Part&, Batches&, char const* prefix, Told&);

}  // namespace detail

/// Trains the model on `train` and returns what each epoch logged. Collective over the strategy's processes.
///
/// Validation, if given as `tr::validation(data)`, runs over all of its data after an epoch, spread over the processes.
/// Data without a sample, and data that end before the steps that were asked for, are an error: before training where
/// the number of batches is known, otherwise (from_generator) when it shows. A process may have no samples of its own.
/// One thread at a time uses the model; others may call a predictor of it meanwhile.
/// \throws Error of one sentence; the same on every process where the cause is. ValueError if the model was moved from,
/// if a number of the options or callbacks is outside of its range, or if processes were given different ones.
template <class Strategy, class CompiledModel, class Train, class ValidationData, class... Callbacks>
History fit(Strategy const&, CompiledModel& model, Train const& train, Validation<ValidationData> const& validation,
            FitOptions const& options, Callbacks&&... callbacks) {
  if constexpr (detail::require_call<Strategy, CompiledModel, Train, Callbacks...>() &&
                detail::require_validation<ValidationData>()) {
    static_assert(detail::require_trainable<typename CompiledModel::Model>());
    return detail::training_loop(model, train, validation, options, callbacks...);
  }
}

/// What `fit` does.
template <class Part, class Model, class Train, class ValidationData, class... Callbacks>
History detail::training_loop(PlacedModel<Part, Model>& model, Train const& train,
                              Validation<ValidationData> const& validation, FitOptions const& options,
                              Callbacks&... callbacks) {
  using R = Run<PlacedModel<Part, Model>>;
  constexpr bool validates = !std::is_same_v<ValidationData, NoData>;
  static_assert((require_callback<Callbacks, R>() && ...));
  static_assert((require_monitor<Callbacks, Model, validates, Callbacks...>() && ...));

  auto const use = model.begin_use("fit");
  Part& part = model.part();
  require_same_call("fit", part, options, callbacks...);
  History history;
  ProgressBar bar{.output = options.verbose ? stdout : nullptr};
  auto told = std::tie(callbacks..., history, bar);
  Feed batches(part, train,
               {.role = FeedRole::training, .steps = options.steps_per_epoch, .class_weight = options.class_weight});
  Feed tests(part, validation.data, {.role = FeedRole::validation});
  Position at{.epoch = options.initial_epoch};
  R run(model, at, options.epochs, log_names<Model, validates, Callbacks...>());
  if constexpr (saves_run<R, Callbacks...>)
    run.save_with([&](auto& archive) { archive("data", batches), archive("callbacks", told); });

  try_outputs(told, run);
  at.stop_if(part.decide(notify<hooks::TrainBegin>(told, run)));
  at.stop_if(part.decide(notify<hooks::TrainResume>(told, run)));  // may put `at` where an earlier process came to
  while (at.goes_on(options.epochs)) {
    batches.start(at.epoch, at.batch);
    run.begin_batches(batches.count());
    if (at.batch == 0) {
      part.reset_metrics(Phase::train);
      run.clear_logs();
      at.stop_if(part.decide(notify<hooks::EpochBegin>(told, run)));
    } else {
      at.stop_if(part.decide(notify<hooks::EpochResume>(told, run)));
    }

    while (!at.stop && batches.next()) {
      run.set_batch(batches.index());
      at.stop_if(part.decide(notify<hooks::TrainBatchBegin>(told, run)));
      part.train_step(batches.batch());
      at.stop_if(part.decide(notify<hooks::TrainBatchEnd>(told, run)));
      ++at.batch;
      at.stop_if(part.decide(notify<hooks::SavePoint>(told, run)));
    }
    at.stop_if(part.drain());
    batches.finish();
    part.verify_replicas();
    model.publish_trained();  // to models that share layers with this one
    run.log(Phase::train, "");

    if constexpr (validates)
      if ((at.epoch + 1) % options.validation_freq == 0) at.stop_if(test_pass(run, part, tests, "val_", told));
    at.stop_if(part.decide(notify<hooks::EpochEnd>(told, run)));
    at.end_epoch();
    at.stop_if(part.decide(notify<hooks::SavePoint>(told, run)));
  }
  notify<hooks::TrainEnd>(told, run);
  model.publish_trained();  // a callback may have put other weights in
  return history;
}

/// Without validation.
template <class Strategy, class CompiledModel, class Train, class... Callbacks>
History fit(Strategy const& strategy, CompiledModel& model, Train const& train, FitOptions const& options,
            Callbacks&&... callbacks) {
  return fit(strategy, model, train, Validation<NoData>{}, options, std::forward<Callbacks>(callbacks)...);
}

/// Loss and metrics over all of `data`, exact over all processes. Collective.
/// \throws ValueError on all processes if there is no sample, or fewer batches than steps.
template <class Strategy, class CompiledModel, class Data, class... Callbacks>
Logs evaluate(Strategy const&, CompiledModel& model, Data const& data, EvaluateOptions const& options = {},
              Callbacks&&... callbacks) {
  if constexpr (detail::require_call<Strategy, CompiledModel, Data, Callbacks...>()) {
    static_assert(detail::require_trainable<typename CompiledModel::Model>());
    return detail::test_loop(model, data, options, callbacks...);
  }
}

/// What `evaluate` does.
template <class Part, class Model, class Data, class... Callbacks>
Logs detail::test_loop(PlacedModel<Part, Model>& model, Data const& data, EvaluateOptions const& options,
                       Callbacks&... callbacks) {
  auto const use = model.begin_use("evaluate");
  Part& part = model.part();
  require_same_call("evaluate", part, options, callbacks...);
  Run<PlacedModel<Part, Model>> run(model, log_names<Model, false, Callbacks...>());
  ProgressBar bar{.output = options.verbose ? stdout : nullptr};
  auto told = std::tie(callbacks..., bar);
  Feed batches(part, data, {.role = FeedRole::test, .steps = options.steps});
  test_pass(run, part, batches, "", told);
  return run.logs();
}

/// The model's outputs for all of `data`, in its order, on every process: (samples, output extents...). Collective.
/// Of no samples these are 0 rows.
template <class Strategy, class CompiledModel, class Data, class... Callbacks>
auto predict(Strategy const&, CompiledModel& model, Data const& data, Callbacks&&... callbacks) {
  if constexpr (detail::require_call<Strategy, CompiledModel, Data, Callbacks...>())
    return detail::prediction_loop(model, data, callbacks...);
}

/// What `predict` does.
template <class Part, class Model, class Data, class... Callbacks>
auto detail::prediction_loop(PlacedModel<Part, Model>& model, Data const& data, Callbacks&... callbacks) {
  auto const use = model.begin_use("predict");
  Part& part = model.part();
  require_same_call("predict", part, callbacks...);
  Run<PlacedModel<Part, Model>> run(model, {});
  auto told = std::tie(callbacks...);
  Feed batches(part, data, {.role = FeedRole::prediction});
  Predictions predictions(part);

  batches.start(0);
  run.begin_batches(batches.count());
  notify<hooks::PredictBegin>(told, run);
  while (batches.next()) {
    run.set_batch(batches.index());
    notify<hooks::PredictBatchBegin>(told, run);
    part.predict_step(batches.batch(), predictions.next(batches.batch()));
    notify<hooks::PredictBatchEnd>(told, run);
  }
  notify<hooks::PredictEnd>(told, run);
  return predictions.gather();
}

/// One pass over test data; its values are logged under `prefix`. Returns whether a callback decided to stop training:
/// the pass itself goes on to its end, since metrics over a part of the data would not be those of all.
template <class R, class Part, class Batches, class Told>
bool detail::test_pass(R& run, Part& part, Batches& batches, char const* prefix, Told& told) {
  part.reset_metrics(Phase::test);
  batches.start(0);
  run.begin_batches(batches.count());
  bool stop = part.decide(notify<hooks::TestBegin>(told, run));
  while (batches.next()) {
    run.set_batch(batches.index());
    stop = part.decide(notify<hooks::TestBatchBegin>(told, run)) || stop;
    part.test_step(batches.batch());
    stop = part.decide(notify<hooks::TestBatchEnd>(told, run)) || stop;
  }
  batches.finish();
  run.log(Phase::test, prefix);
  return part.decide(notify<hooks::TestEnd>(told, run)) || stop;
}

}  // namespace trireme
