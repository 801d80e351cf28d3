// ranks: 1 2 3 4   labels: law
// Law 1 for mixed precision: ranks and shards round as one device does; gradients that travel as bfloat16 keep what
// they lose.
#define BOOST_TEST_MODULE mixed_precision
#include "support/kokkos_fixture.hpp"
#include "support/small_training.hpp"

#include <cstddef>

#include "trireme/compile.hpp"
#include "trireme/fit.hpp"
#include "trireme/layers/batch_normalization.hpp"
#include "trireme/losses/sparse_categorical_crossentropy.hpp"
#include "trireme/metrics/accuracy.hpp"
#include "trireme/models/frozen.hpp"
#include "trireme/optimizers/adam.hpp"
#include "trireme/strategies/data_parallel/compressed.hpp"
#include "trireme/strategies/data_parallel/multi_worker_mirrored.hpp"
#include "trireme/strategies/data_parallel/one_device.hpp"
#include "trireme/strategies/sharded/sharded.hpp"

using namespace trireme;

namespace {

auto normalized() {
  return Sequential{Input<test::cnn_inputs[0], test::cnn_inputs[1], test::cnn_inputs[2]>{},
                    Conv2D<3, 3, 3, Same, NoBias>{},
                    SyncBatchNormalization<>{.momentum = 0.8},
                    ReLU{},
                    MaxPooling2D<2, 2>{},
                    Flatten{},
                    Dropout{.rate = 0.25f},
                    Dense<test::classes>{}};
}

auto partly_frozen() {
  return Sequential{Input<test::cnn_inputs[0], test::cnn_inputs[1], test::cnn_inputs[2]>{},
                    Frozen{Conv2D<3, 3, 3, Same, NoBias>{}},
                    SyncBatchNormalization<>{.momentum = 0.8},
                    Flatten{},
                    Dense<6, NoBias>{},
                    Frozen{BatchNormalization<>{}},
                    ReLU{},
                    Dropout{.rate = 0.25f},
                    Dense<test::classes>{}};
}

template <class Precision, class Strategy, class Architecture, class Check>
void trained(Strategy const& strategy, Architecture const& architecture, Parallelism plan, std::size_t batch,
             Check const& check) {
  using T = typename Precision::Scalar;
  auto const train = test::cnn_samples<T>(4 * batch + 1), tests = test::cnn_samples<T>(7, 2);
  auto model = compile<Precision>(strategy, architecture, Adam{.learning_rate = 0.01, .epsilon = 1e-3},
                                  SparseCategoricalCrossentropy{.from_logits = true}, Accuracy{},
                                  CompileOptions{.seed = 5, .parallelism = plan});
  auto const history = fit(strategy, model, train.data().shuffle(100, 3).batch(GlobalBatch{batch}),
                           validation(tests.data().batch(GlobalBatch{5})), {.epochs = 2, .verbose = false});
  check(model, history);
}

template <std::size_t Stage>
void check_shards() {
  using Precision = Mixed<BFloat16, double>;
  ShardedStrategy<Kokkos::DefaultExecutionSpace, Stage> const strategy(test::environment().world());
  for (std::size_t batch : {7u, 2u})
    trained<Precision>(OneDeviceStrategy<>(), partly_frozen(), Parallelism::samples, batch,
                       [&](auto const& reference, auto const& expected) {
                         trained<Precision>(strategy, partly_frozen(), Parallelism::automatic, batch,
                                            [&](auto const& model, History const& history) {
                                              BOOST_TEST_CONTEXT("stage " << Stage << ", batches of " << batch) {
                                                test::check_same_weights(model, reference, 1e-11);
                                                test::check_same_history(history, expected, 1e-11);
                                              }
                                            });
                       });
}

}  // namespace

BOOST_AUTO_TEST_CASE(mixed_precision_trains_on_ranks_as_on_one_device) {
  using Precision = Mixed<BFloat16, double>;  // of doubles no sum is so near a tie that its order shows
  auto const& world = test::environment().world();
  for (std::size_t batch : {7u, 2u})
    trained<Precision>(OneDeviceStrategy<>(), normalized(), Parallelism::samples, batch,
                       [&](auto const& reference, auto const& expected) {
                         for (Parallelism plan : {Parallelism::samples, Parallelism::intra_op})
                           trained<Precision>(MultiWorkerMirroredStrategy<>(world, {}, 256), normalized(), plan, batch,
                                              [&](auto const& model, History const& history) {
                                                test::check_same_weights(model, reference, 1e-11);
                                                test::check_same_history(history, expected, 1e-11);
                                                test::check_equal_on_all(world, model);
                                              });
                       });
}

BOOST_AUTO_TEST_CASE(shards_of_layers_with_states_and_frozen_weights_train_as_one_device) {
  check_shards<1>();
  check_shards<2>();
  check_shards<3>();
}

BOOST_AUTO_TEST_CASE(gradients_that_travel_in_bfloat16_keep_ranks_equal_and_near_one_device) {
  using Precision = Mixed<BFloat16>;
  auto const& world = test::environment().world();
  trained<Precision>(
      OneDeviceStrategy<>(), normalized(), Parallelism::samples, 7, [&](auto const& reference, auto const&) {
        Compressed<MultiWorkerMirroredStrategy<>, BFloat16> const strategy(world);
        trained<Precision>(strategy, normalized(), Parallelism::samples, 7, [&](auto const& model, History const&) {
          test::check_same_weights(model, reference, 1.0 / 64);
          test::check_equal_on_all(world, model);
        });
      });
}
