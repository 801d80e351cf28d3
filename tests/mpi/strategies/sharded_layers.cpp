// ranks: 1 2 3 4   labels: law
// Law 1 under sharding for layers with statistics of their own rows, and for frozen ones.
#define BOOST_TEST_MODULE sharded_layers
#include "support/kokkos_fixture.hpp"
#include "support/law_models.hpp"
#include "support/small_training.hpp"

#include <cstddef>
#include <tuple>
#include <type_traits>

#include "trireme/layers/batch_normalization.hpp"
#include "trireme/models/branches.hpp"
#include "trireme/models/frozen.hpp"
#include "trireme/strategies/data_parallel/mirrored.hpp"
#include "trireme/strategies/data_parallel/one_device.hpp"
#include "trireme/strategies/sharded/sharded.hpp"

using namespace trireme;
using test::law::trained, test::law::Training;

namespace {

template <std::size_t N>
using Number = std::integral_constant<std::size_t, N>;
using Stages = std::tuple<Number<1>, Number<2>, Number<3>>;

/// Batches of 7 are uneven over the ranks; of batches of 2 some ranks have nothing.
template <std::size_t Stage, class T, class Architecture, class Reference = OneDeviceStrategy<>>
void check_law(Architecture const& architecture, Reference const& one = Reference()) {
  auto const& world = test::environment().world();
  for (std::size_t batch : {7u, 2u}) {
    Training const training{.parallelism = Parallelism::intra_op, .batch = batch};
    trained<T>(one, architecture, training, [&](auto const& reference, auto const& expected) {
      trained<T>(ShardedStrategy<Kokkos::DefaultExecutionSpace, Stage>(world), architecture, training,
                 [&](auto const& model, History const& history) {
                   BOOST_TEST_CONTEXT("batches of " << batch) {
                     // Of two rows a normalized value changes much with each rounding.
                     double const limit = (batch == 2 ? 30 : 3) * test::tolerance<T>;
                     test::check_same_weights(model, reference, limit);
                     test::check_same_history(history, expected, limit);
                   }
                 });
    });
  }
}

auto input() { return Input<test::cnn_inputs[0], test::cnn_inputs[1], test::cnn_inputs[2]>{}; }

}  // namespace

BOOST_AUTO_TEST_CASE_TEMPLATE(statistics_of_a_rank_are_those_of_a_replica, Stage, Stages) {
  check_law<Stage::value, double>(
      Sequential{input(), Conv2D<3, 3, 3, Same, NoBias>{}, BatchNormalization<>{.momentum = 0.7}, ReLU{},
                 Residual{Conv2D<3, 3, 3, Same, NoBias>{}, BatchNormalization<NoScale>{}}, Flatten{},
                 Dense<test::classes>{}},
      MirroredStrategy<>(test::environment().world().size()));
}

BOOST_AUTO_TEST_CASE_TEMPLATE(frozen_layers_are_in_no_shard, Stage, Stages) {
  check_law<Stage::value, double>(Sequential{
      input(), Frozen{Sequential{Conv2D<4, 3, 3, Same, NoBias>{}, BatchNormalization<>{}}},
      Residual{Frozen{Conv2D<4, 3, 3, Same>{}}, Conv2D<4, 3, 3, Same, NoBias>{}},
      SyncBatchNormalization<>{.momentum = 0.8}, Flatten{}, Frozen{Dense<9, Tanh>{}}, Dense<test::classes>{}});
}
