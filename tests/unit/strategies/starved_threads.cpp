// Threads that are stopped at random, and all of them on one processor beside others that never rest: weights and
// metrics keep their bits, and nothing hangs.
#define BOOST_TEST_MODULE starved_threads
#include "support/kokkos_fixture.hpp"
#include "support/law_models.hpp"
#include "support/small_training.hpp"
#include "support/starvation.hpp"

#include <cstddef>
#include <tuple>
#include <utility>
#include <vector>

#include "trireme/compile.hpp"
#include "trireme/fit.hpp"
#include "trireme/layers/batch_normalization.hpp"
#include "trireme/losses/sparse_categorical_crossentropy.hpp"
#include "trireme/metrics/accuracy.hpp"
#include "trireme/optimizers/adam.hpp"
#include "trireme/strategies/data_parallel/mirrored.hpp"
#include "trireme/strategies/data_parallel/one_device.hpp"
#include "trireme/strategies/data_parallel/virtual_replicas.hpp"

using namespace trireme;

namespace {

/// The bits of all weights after six epochs, and the losses.
template <class Strategy, class Layers>
auto trained(Strategy const& strategy, Layers const& layers, Parallelism plan) {
  auto const samples = test::mlp_samples<float>(200);
  auto model =
      compile(strategy, layers, Adam{.learning_rate = 1e-2}, SparseCategoricalCrossentropy{.from_logits = true},
              Accuracy{}, CompileOptions{.seed = 3, .parallelism = plan});
  auto const history =
      fit(strategy, model, samples.data().shuffle(200, 5).batch(GlobalBatch{9}), {.epochs = 6, .verbose = false});
  return std::pair{test::weight_bits(model), history["loss"]};
}

template <class Strategy, class Layers>
void check(Strategy const& strategy, Layers const& layers,
           std::vector<Parallelism> const& plans = {Parallelism::samples, Parallelism::intra_op}) {
  for (Parallelism const plan : plans) {
    auto const expected = trained(strategy, layers, plan);
    {
      test::RandomStops const stops;
      BOOST_TEST((trained(strategy, layers, plan) == expected));
    }
    test::OneProcessor const one(2);
    BOOST_TEST((trained(strategy, layers, plan) == expected));
  }
}

auto plain() {
  return Sequential{Input<test::mlp_inputs>{}, Dense<40, Tanh>{}, Dropout{.rate = 0.25f}, Dense<test::classes>{}};
}
auto with_statistics_of_the_batch() {
  return Sequential{Input<test::mlp_inputs>{}, Dense<40, Tanh>{}, SyncBatchNormalization<>{}, Dense<test::classes>{}};
}

}  // namespace

BOOST_AUTO_TEST_CASE(one_device) { check(OneDeviceStrategy<>(), plain()); }
BOOST_AUTO_TEST_CASE(partitions_that_wait_for_each_other) {
  check(OneDeviceStrategy<>(), with_statistics_of_the_batch());
}
BOOST_AUTO_TEST_CASE(threads_that_own_rows_of_the_weights) {
  check(OneDeviceStrategy<>(),
        Sequential{Input<test::mlp_inputs>{}, Dense<256, Tanh>{}, Dense<128, Tanh>{}, Dense<test::classes>{}},
        {Parallelism::automatic});
}
BOOST_AUTO_TEST_CASE(replicas) { check(MirroredStrategy<>(3), plain()); }
BOOST_AUTO_TEST_CASE(more_lanes_than_threads) {
  check(VirtualReplicas<OneDeviceStrategy<>, 8>(), plain(), {Parallelism::samples});
  check(VirtualReplicas<OneDeviceStrategy<>, 8>(), with_statistics_of_the_batch(), {Parallelism::samples});
}
