// The models of the table in docs/performance.md, and how a case of it is measured.
#pragma once

#include <string>

#include "measurement.hpp"
#include "synthetic.hpp"

namespace bench {

inline auto mlp() { return tr::Sequential{tr::Input<784>{}, tr::Dense<128, tr::ReLU>{}, tr::Dense<10>{}}; }

inline auto cnn() {
  return tr::Sequential{tr::Input<28, 28, 1>{},    tr::Conv2D<32, 3, 3, tr::ReLU>{},
                        tr::MaxPooling2D<2, 2>{},  tr::Conv2D<64, 3, 3, tr::ReLU>{},
                        tr::MaxPooling2D<2, 2>{},  tr::Flatten{},
                        tr::Dense<64, tr::ReLU>{}, tr::Dense<10>{}};
}

inline auto wide() {
  return tr::Sequential{tr::Input<1024>{}, tr::Dense<4096, tr::ReLU>{}, tr::Dense<4096, tr::ReLU>{}, tr::Dense<10>{}};
}

inline auto surrogate() {
  return tr::Sequential{tr::Input<3>{}, tr::Dense<64, tr::Tanh>{}, tr::Dense<64, tr::Tanh>{}, tr::Dense<64, tr::Tanh>{},
                        tr::Dense<1>{}};
}

inline auto transformer() {
  return tr::Sequential{tr::Input<64, 256>{}, tr::Residual{tr::LayerNormalization<>{}, tr::MultiHeadAttention<4, 64>{}},
                        tr::Residual{tr::LayerNormalization<>{}, tr::Dense<1024, tr::ReLU>{}, tr::Dense<256>{}},
                        tr::Flatten{}, tr::Dense<10>{}};
}

inline auto lstm() { return tr::Sequential{tr::Input<64, 32>{}, tr::LSTM<128>{}, tr::Dense<10>{}}; }

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

/// A classifier of ten classes over samples of these extents.
template <class Strategy, class Architecture, class Optimizer>
void train_classifier(Strategy const& strategy, Architecture const& architecture, Optimizer const& optimizer,
                      std::string const& name, Options const& options) {
  std::size_t const batch = batch_of(name);
  auto model = tr::compile(strategy, architecture, optimizer, tr::SparseCategoricalCrossentropy{.from_logits = true},
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

}  // namespace bench
