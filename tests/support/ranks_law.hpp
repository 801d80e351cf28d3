// Law 1 for a model under MultiWorkerMirroredStrategy: the weights, losses and metrics of one device.
#pragma once

#include <cstddef>

#include "support/small_training.hpp"
#include "trireme/compile.hpp"
#include "trireme/fit.hpp"
#include "trireme/losses/sparse_categorical_crossentropy.hpp"
#include "trireme/metrics/accuracy.hpp"
#include "trireme/optimizers/sgd.hpp"
#include "trireme/strategies/data_parallel/multi_worker_mirrored.hpp"
#include "trireme/strategies/data_parallel/one_device.hpp"

namespace trireme::test {

template <class T, class Strategy, class Architecture, class Check>
void trained(Strategy const& strategy, Architecture const& architecture, Parallelism plan, std::size_t batch,
             Check const& check) {
  std::size_t const samples = 4 * batch + 1;
  auto const train = cnn_samples<T>(samples), tests = cnn_samples<T>(7, 2);
  auto const data = train.data().shuffle(samples, 3).batch(GlobalBatch{batch});
  auto model = compile<T>(strategy, architecture, SGD{.learning_rate = 0.02, .momentum = 0.9},
                          SparseCategoricalCrossentropy{.from_logits = true}, Accuracy{}, Margin{},
                          CompileOptions{.seed = 5, .parallelism = plan});
  auto const history =
      fit(strategy, model, data, validation(tests.data().batch(GlobalBatch{5})), {.epochs = 2, .verbose = false});
  check(model, history);
}

/// The architecture should give layers before a normalization, and keys, no bias: its gradient is 0, and rounding is
/// all that would be compared. Batches of 7 are uneven over the ranks; of batches of 2 some ranks have nothing.
template <class T, class Architecture>
void check_law(Architecture const& architecture) {
  auto const& world = environment().world();
  for (std::size_t batch : {7u, 2u})
    trained<T>(OneDeviceStrategy<>(), architecture, Parallelism::samples, batch,
               [&](auto const& reference, auto const& expected) {
                 for (Parallelism plan : {Parallelism::samples, Parallelism::intra_op})
                   trained<T>(MultiWorkerMirroredStrategy<>(world, {}, 256), architecture, plan, batch,
                              [&](auto const& model, History const& history) {
                                BOOST_TEST_CONTEXT("batches of " << batch) {
                                  // Of two rows a normalized value changes much with each rounding.
                                  double const limit = (batch == 2 ? 30 : 3) * tolerance<T>;
                                  check_same_weights(model, reference, limit);
                                  check_same_history(history, expected, limit);
                                  check_equal_on_all(world, model);
                                }
                              });
               });
}

}  // namespace trireme::test
