// ranks: 1 2 3 4   labels: law
// Law 1 for models with frozen layers, whose weights stay the same to the bit on every rank and do not travel.
#define BOOST_TEST_MODULE frozen_layers
#include "support/kokkos_fixture.hpp"
#include "support/ranks_law.hpp"
#include "support/small_training.hpp"

#include <cstddef>
#include <tuple>

#include "trireme/layers/batch_normalization.hpp"
#include "trireme/models/branches.hpp"
#include "trireme/models/frozen.hpp"

using namespace trireme;

namespace {

using Scalars = std::tuple<float, double>;

auto architecture() {
  return Sequential{Input<test::cnn_inputs[0], test::cnn_inputs[1], test::cnn_inputs[2]>{},
                    Frozen{Sequential{Conv2D<4, 3, 3, Same, NoBias>{}, BatchNormalization<>{}}},
                    Residual{Frozen{Conv2D<4, 3, 3, Same>{}}, Conv2D<4, 3, 3, Same, NoBias>{}},
                    SyncBatchNormalization<>{.momentum = 0.8},
                    Flatten{},
                    Frozen{Dense<9, Tanh>{}},
                    Dense<test::classes>{}};
}

}  // namespace

BOOST_AUTO_TEST_CASE_TEMPLATE(models_with_frozen_layers_train_on_ranks_as_on_one_device, T, Scalars) {
  test::check_law<T>(architecture());
}

BOOST_AUTO_TEST_CASE(what_ranks_reduce_and_update_has_no_byte_of_frozen_weights) {
  auto const& world = test::environment().world();
  constexpr std::size_t kernel = 3 * 3 * 4 * 4, dense = 40;
  constexpr std::size_t trained = 8 * (kernel + 8 + 8 + dense + 8), states = 8 * (8 + 8);  // in whole cache lines
  auto const samples = test::cnn_samples<double>(9);
  for (Exchange exchange : {Exchange::automatic, Exchange::messages}) {
    MultiWorkerMirroredStrategy<> const strategy(world, {}, 256, exchange);
    auto model = compile<double>(strategy, architecture(), SGD{.learning_rate = 0.1, .momentum = 0.5},
                                 SparseCategoricalCrossentropy{.from_logits = true});
    auto const use = model.engine().memory_use(4);
    BOOST_TEST(use.reduced_bytes() == (world.size() > 1 ? trained + states : 0u));
    BOOST_TEST(use.optimizer_bytes() == trained);
    BOOST_TEST(model.description().reduced_elements() * sizeof(double) == trained + states);
    auto const before = model.engine().weights().host_parameters();
    fit(strategy, model, samples.data().batch(GlobalBatch{4}), {.epochs = 2, .verbose = false});
    auto const after = model.engine().weights().host_parameters();
    std::size_t const first = model.description().reduced_elements();
    BOOST_TEST(before.size() > first);
    for (std::size_t i = first; i < before.size(); ++i) BOOST_REQUIRE(before[i] == after[i]);
    BOOST_TEST(before[0] != after[0]);
  }
}
