/// A model of several outputs, two of which end in the activation that their loss would undo.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <tuple>
#include <utility>
#include <vector>

#include "support/small_training.hpp"
#include "trireme/activations/sigmoid.hpp"
#include "trireme/activations/softmax.hpp"
#include "trireme/activations/tanh.hpp"
#include "trireme/compile.hpp"
#include "trireme/fit.hpp"
#include "trireme/initializers/random_normal.hpp"
#include "trireme/layers/dense.hpp"
#include "trireme/losses/binary_crossentropy.hpp"
#include "trireme/losses/mean_squared_error.hpp"
#include "trireme/losses/sparse_categorical_crossentropy.hpp"
#include "trireme/metrics/accuracy.hpp"
#include "trireme/metrics/means.hpp"
#include "trireme/models/outputs.hpp"
#include "trireme/models/tuples.hpp"
#include "trireme/optimizers/sgd.hpp"
#include "trireme/strategies/data_parallel/one_device.hpp"

namespace trireme::test {

/// Trains it with logits of several tens, and compares history and predictions with those of one device.
template <class Strategy>
void check_outputs_on_logits(Strategy const& strategy, double limit) {
  constexpr std::size_t count = 23;
  auto const samples = mlp_samples<double>(count);
  std::vector<double> yes, numbers;
  for (std::int32_t const label : samples.y) {
    yes.push_back(label % 2);
    numbers.push_back(label / 4.0);
  }
  auto const data = data::from_tensor_slices(samples.x, std::tie(samples.y, yes, numbers)).batch(GlobalBatch{8});
  auto const trained = [&](auto const& where) {
    auto const large = RandomNormal{.stddev = 30};
    auto model = compile<double>(
        where,
        Sequential{Input<mlp_inputs>{}, Dense<5, Tanh>{},
                   Fork{Dense<classes, Softmax>{.kernel_initializer = large},
                        Dense<1, Sigmoid>{.kernel_initializer = large}, Dense<1, Tanh>{}}},
        SGD{.learning_rate = 0.01},
        Outputs{output<"kind">(SparseCategoricalCrossentropy{}, metrics::SparseCategoricalCrossentropy{}, Accuracy{}),
                output<"yes">(BinaryCrossentropy{}, metrics::BinaryCrossentropy{}),
                output<"number">(MeanSquaredError{})},
        CompileOptions{.seed = 5});
    auto history = fit(where, model, data, validation(data), {.epochs = 2, .verbose = false});
    return std::pair(std::move(history), predict(where, model, data));
  };
  auto const [expected, expected_predictions] = trained(OneDeviceStrategy<>());
  BOOST_TEST(expected["kind_loss"][0] > 17);  // clipped, a loss is at most 16.2
  auto const [history, predictions] = trained(strategy);
  check_same_history(history, expected, limit);
  for (std::size_t i = 0; i < predictions.size(); ++i)
    BOOST_TEST(distance(predictions[i], expected_predictions[i]) <= limit);
}

}  // namespace trireme::test
