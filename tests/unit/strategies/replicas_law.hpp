/// Law 1 within one process: 1 to 5 replicas against one device, under both plans.
#pragma once

#include <cstddef>
#include <tuple>

#include <boost/test/unit_test.hpp>

#include "support/small_training.hpp"
#include "trireme/compile.hpp"
#include "trireme/fit.hpp"
#include "trireme/losses/sparse_categorical_crossentropy.hpp"
#include "trireme/metrics/accuracy.hpp"
#include "trireme/strategies/data_parallel/mirrored.hpp"
#include "trireme/strategies/data_parallel/one_device.hpp"

namespace trireme::test {

struct Perceptron {
  static auto architecture() { return mlp(); }
  template <class T>
  static auto samples(std::size_t count, std::uint64_t seed = 1) {
    return mlp_samples<T>(count, seed);
  }
};

struct Convolutional {
  static auto architecture() { return cnn(); }
  template <class T>
  static auto samples(std::size_t count, std::uint64_t seed = 1) {
    return cnn_samples<T>(count, seed);
  }
};

template <class T, class Problem, class Strategy, class Optimizer>
auto compiled(Strategy const& strategy, Optimizer const& optimizer, Parallelism plan) {
  return compile<T>(strategy, Problem::architecture(), optimizer, SparseCategoricalCrossentropy{.from_logits = true},
                    Accuracy{}, Margin{}, CompileOptions{.seed = 11, .parallelism = plan});
}

/// 20 steps and more, and validation, for 1 to 5 replicas against one device.
template <class T, class Problem, class Optimizer>
void check_replicas(Optimizer const& optimizer, std::size_t samples, std::size_t batch, std::size_t epochs) {
  auto const train = Problem::template samples<T>(samples), validate = Problem::template samples<T>(17, 2);
  auto const data = train.data().shuffle(samples, 7).batch(GlobalBatch{batch});
  auto const tests = validation(validate.data().batch(GlobalBatch{4}));
  FitOptions const options{.epochs = epochs, .verbose = false};

  OneDeviceStrategy<> const one;
  auto reference = compiled<T, Problem>(one, optimizer, Parallelism::intra_op);
  auto const expected = fit(one, reference, data, tests, options);
  BOOST_TEST(reference.engine().iteration() >= 20u);
  auto const prediction = predict(one, reference, tests.data);

  for (std::size_t replicas = 1; replicas <= 5; ++replicas)
    for (Parallelism plan : {Parallelism::samples, Parallelism::intra_op}) {
      BOOST_TEST_CONTEXT(replicas << " replicas, batches of " << batch
                                  << (plan == Parallelism::samples ? ", rows" : ", products")) {
        MirroredStrategy<> const strategy(replicas);
        auto model = compiled<T, Problem>(strategy, optimizer, plan);
        auto const history = fit(strategy, model, data, tests, options);
        check_same_weights(model, reference);
        check_same_history(history, expected, tolerance<T>);
        check_same_logs(evaluate(strategy, model, tests.data), evaluate(one, reference, tests.data), tolerance<T>);
        BOOST_TEST(distance(predict(strategy, model, tests.data), prediction) <= tolerance<T>);
      }
    }
}

using Scalars = std::tuple<float, double>;

}  // namespace trireme::test
