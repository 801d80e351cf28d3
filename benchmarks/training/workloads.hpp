// Measurement of the cases of the table in docs/performance.md.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "architectures.hpp"
#include "measurement.hpp"
#include "synthetic.hpp"

namespace bench {

/// Trains through `fit`, with its metrics and History, and prints what a step took.
template <class Strategy, class Model, class Data>
void train(Strategy const& strategy, Model& model, Data const& batches, std::string const& name,
           Options const& options) {
  auto const run = [&](std::size_t steps, std::size_t epochs, EpochClock& clock) {
    return tr::fit(strategy, model, batches.repeat(),
                   tr::FitOptions{.epochs = epochs, .steps_per_epoch = steps, .verbose = false}, clock);
  };
  std::size_t steps = options.steps;
  if (steps == 0) {
    EpochClock clock;
    run(4, 4, clock);
    double const slowest =
        strategy.group().allreduce_max(clock.seconds().front()).value();  // all ranks take the same steps
    steps = steps_in(options.seconds, slowest / 4);
  }
  EpochClock clock;
  auto const history = run(steps, options.repetitions + 1, clock);
  if (strategy.group().is_chief())
    print(name, step_time(clock.seconds(), steps), steps, model.description().trainable_count(), history);
}

/// A classifier of ten classes over samples of these extents. `Precision` as compile's.
template <class Precision = float, class Strategy, class Architecture, class Optimizer>
void train_classifier(Strategy const& strategy, Architecture const& architecture, Optimizer const& optimizer,
                      std::string const& name, Options const& options) {
  std::size_t const batch = batch_of(name);
  auto model =
      tr::compile<Precision>(strategy, architecture, optimizer, tr::SparseCategoricalCrossentropy{.from_logits = true},
                             tr::Accuracy{}, tr::CompileOptions{.seed = 1, .parallelism = options.parallelism});
  std::vector<std::size_t> extents{batch * distinct_batches(batch, model.engine().model().input_size())};
  for (std::size_t extent : model.description().input) extents.push_back(extent);
  auto const data = labelled(extents);
  train(strategy, model, tr::data::from_tensor_slices(data.x, data.y).batch(tr::GlobalBatch{batch}), name, options);
}

/// The regression of `surface`.
template <class Strategy>
void train_surrogate(Strategy const& strategy, std::string const& name, Options const& options) {
  std::size_t const batch = batch_of(name);
  auto model = tr::compile(strategy, surrogate(), tr::Adam{.learning_rate = 1e-3}, tr::MeanSquaredError{},
                           tr::CompileOptions{.seed = 1, .parallelism = options.parallelism});
  auto const data = surface(batch * distinct_batches(batch, 3));
  train(strategy, model, tr::data::from_tensor_slices(data.x, data.y).batch(tr::GlobalBatch{batch}), name, options);
}

/// The segmentation of `discs`.
template <class Strategy>
void train_unet(Strategy const& strategy, std::string const& name, Options const& options) {
  std::size_t const batch = batch_of(name);
  auto model = tr::compile(strategy, unet(), tr::Adam{.learning_rate = 1e-3},
                           tr::BinaryCrossentropy{.from_logits = true}, tr::BinaryAccuracy{.threshold = 0},
                           tr::CompileOptions{.seed = 1, .parallelism = options.parallelism});
  auto const data = discs(batch * distinct_batches(batch, 64 * 64), 64);
  train(strategy, model, tr::data::from_tensor_slices(data.x, data.y).batch(tr::GlobalBatch{batch}), name, options);
}

/// The case `name` of one of resnet18, vgg, unet and conv1d.
template <class Strategy>
void train_deep(Strategy const& strategy, std::string_view model, std::string const& name, Options const& options) {
  tr::SGD const sgd{.learning_rate = 1e-3, .momentum = 0.9};
  if (model == "resnet18")
    train_classifier(strategy, resnet18(), sgd, name, options);
  else if (model == "vgg")
    train_classifier(strategy, vgg(), sgd, name, options);
  else if (model == "unet")
    train_unet(strategy, name, options);
  else if (model == "conv1d")
    train_classifier(strategy, conv1d(), tr::Adam{.learning_rate = 1e-3}, name, options);
  else
    throw tr::ValueError(fmt::format("there is no case '{}'", name));
}

}  // namespace bench
