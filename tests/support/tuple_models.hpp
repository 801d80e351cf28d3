/// Models of several inputs and outputs that law 1 is tested with, and a training run of one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <tuple>
#include <vector>

#include "support/small_training.hpp"
#include "trireme/compile.hpp"
#include "trireme/fit.hpp"
#include "trireme/layers/batch_normalization.hpp"
#include "trireme/layers/layer_normalization.hpp"
#include "trireme/layers/multi_head_attention.hpp"
#include "trireme/layers/select.hpp"
#include "trireme/losses/mean_squared_error.hpp"
#include "trireme/losses/sparse_categorical_crossentropy.hpp"
#include "trireme/metrics/accuracy.hpp"
#include "trireme/metrics/means.hpp"
#include "trireme/models/branches.hpp"
#include "trireme/models/each.hpp"
#include "trireme/models/tuples.hpp"
#include "trireme/optimizers/sgd.hpp"

namespace trireme::test::tuples {

constexpr std::size_t steps = 3, features = 4;

/// Two sequences a sample; a number and a class for each of its steps as targets.
template <class T>
struct Samples {
  test::Samples<T> first, second;
  xt::xarray<T> number;
  std::vector<std::int32_t> kinds;

  Samples(std::size_t count, std::uint64_t seed)
      : first(test::make_samples<T>(count, {steps, features}, 3, seed)),
        second(test::make_samples<T>(count, {2, features}, 3, seed + 100)),
        number(xt::xarray<T>::from_shape({count, std::size_t{1}})) {
    for (std::size_t i = 0; i < count; ++i) {
      number.data()[i] = first.x.data()[i * steps * features] * second.x.data()[i * 2 * features];
      for (std::size_t t = 0; t < steps; ++t)
        kinds.push_back((first.y[i] + static_cast<std::int32_t>(t) * second.y[i]) % 3);
    }
  }

  auto x() const { return std::tie(first.x, second.x); }
  auto y() const {
    return std::tuple{HostTensor<T>{nullptr, number.data(), {first.size(), 1}, {}},
                      HostTensor<std::int32_t>{nullptr, kinds.data(), {first.size(), steps}, {}}};
  }
  auto data() const { return data::from_tensor_slices(x(), y(), first.weight); }
};

/// Class 0 is left out of the second loss, so that its count differs from batch to batch and from rank to rank.
inline auto losses() {
  return Outputs{output<"number">(MeanSquaredError{}, LossWeight{0.3}, metrics::MeanAbsoluteError{}),
                 output<"kind">(SparseCategoricalCrossentropy{.from_logits = true, .ignore_class = 0}, Accuracy{},
                                test::Margin{})};
}

inline auto heads() {
  return Fork{Sequential{Flatten{}, Dropout{.rate = 0.2f}, Dense<1>{}}, Dense<3>{.kernel_regularizer = L2(1e-3)}};
}

inline auto towers() {
  return Sequential{Inputs{Input<steps, features>{}, Input<2, features>{}},
                    Each{Sequential{Dense<5, Tanh>{}, Dropout{.rate = 0.25f}, Dense<4, Tanh>{}}},
                    Parallel{Skip{}, Sequential{Flatten{}, Dense<steps * 4, Tanh>{}, Reshape<steps, 4>{}}}, Add{},
                    heads()};
}

inline auto normalized_towers() {
  return Sequential{Inputs{Input<steps, features>{}, Input<2, features>{}},
                    Each{Sequential{Dense<5, NoBias>{}, SyncBatchNormalization<>{.momentum = 0.8}, Tanh{}}},
                    Parallel{Skip{}, Sequential{Flatten{}, Dense<steps * 5, Tanh>{}, Reshape<steps, 5>{}}},
                    Concatenate{}, heads()};
}

/// A decoder's block: the first sequence attends to the second.
inline auto decoder() {
  return Sequential{
      Inputs{Input<steps, features>{}, Input<2, features>{}},
      Parallel{Residual{LayerNormalization<>{}, MultiHeadAttention<2, 3, NoBias, Causal>{}}, LayerNormalization<>{}},
      Fork{Add{Select<0>{}, MultiHeadAttention<2, 3, NoBias>{}}, Select<1>{}},
      Select<0>{},
      Residual{LayerNormalization<>{}, Dense<6, ReLU>{}, Dense<features>{}},
      heads()};
}

template <class T, class Strategy, class Architecture, class Check>
void trained(Strategy const& strategy, Architecture const& architecture, Parallelism plan, std::size_t batch,
             Check const& check) {
  std::size_t const count = 4 * batch + 1;
  Samples<T> const train(count, 1), tests(7, 2);
  auto model = compile<T>(strategy, architecture, SGD{.learning_rate = 0.05, .momentum = 0.9}, losses(),
                          CompileOptions{.seed = 5, .parallelism = plan});
  auto const validate = tests.data().batch(GlobalBatch{5});
  auto const history = fit(strategy, model, train.data().shuffle(count, 3).batch(GlobalBatch{batch}),
                           validation(validate), {.epochs = 2, .verbose = false});
  check(model, history, predict(strategy, model, validate), evaluate(strategy, model, validate));
}

}  // namespace trireme::test::tuples
