// ranks: 1 2 3 4   labels: law
// Statistics that a rank takes of its own rows are those of a replica.
#define BOOST_TEST_MODULE mixing_layers
#include "support/kokkos_fixture.hpp"
#include "support/law_models.hpp"
#include "support/small_training.hpp"

#include <tuple>

#include "trireme/layers/batch_normalization.hpp"
#include "trireme/models/branches.hpp"
#include "trireme/strategies/data_parallel/mirrored.hpp"
#include "trireme/strategies/data_parallel/multi_worker_mirrored.hpp"

using namespace trireme;
using test::law::trained, test::law::Training;

namespace {

using Scalars = std::tuple<float, double>;

}  // namespace

BOOST_AUTO_TEST_CASE_TEMPLATE(statistics_of_a_rank_are_those_of_a_replica, T, Scalars) {
  auto const& world = test::environment().world();
  auto const architecture = Sequential{test::law::input(),
                                       Conv2D<3, 3, 3, Same, NoBias>{},
                                       BatchNormalization<>{.momentum = 0.7},
                                       ReLU{},
                                       Residual{Conv2D<3, 3, 3, Same, NoBias>{}, BatchNormalization<NoScale>{}},
                                       Flatten{},
                                       Dense<test::classes>{}};
  for (std::size_t batch : {9u, 2u})
    trained<T>(MirroredStrategy<>(world.size()), architecture, Training{.batch = batch},
               [&](auto const& reference, auto const& expected) {
                 for (Parallelism plan : {Parallelism::samples, Parallelism::intra_op})
                   trained<T>(MultiWorkerMirroredStrategy<>(world), architecture,
                              Training{.parallelism = plan, .batch = batch},
                              [&](auto const& model, History const& history) {
                                test::check_same_weights(model, reference, 30 * test::tolerance<T>);
                                test::check_same_history(history, expected, 30 * test::tolerance<T>);
                                test::check_equal_on_all(world, model);
                              });
               });
}
