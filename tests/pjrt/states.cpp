// ranks: 1 2
// Layers with states: their moving statistics under programs, on replicas and ranks, in files and frozen.
#define BOOST_TEST_MODULE pjrt_states
#include "support/kokkos_fixture.hpp"

#include <cstddef>
#include <string>

#include "pjrt/training.hpp"
#include "trireme/trireme.hpp"

using namespace trireme;

namespace {

auto dataset() {
  static auto const x = test::make_samples<double>(45, {5, 2}, 2, 3).x;
  static auto const y = test::make_samples<double>(45, {2}, 2, 7).x;
  return data::from_tensor_slices(x, y).batch(GlobalBatch{8});  // the last batch has 5 rows
}

/// A layer before a normalization has no bias here: its gradient is 0, and of a rounding error nothing is left to
/// compare.
template <class Strategy, class... Layers>
auto train(Strategy const& strategy, Layers const&... layers) {
  return test::run(
      strategy,
      [&](auto const& where) {
        return compile<double>(where, Sequential{Input<5, 2>{}, layers..., Flatten{}, Dense<2>{}},
                               SGD{.learning_rate = 0.05, .momentum = 0.5}, MeanSquaredError{},
                               CompileOptions{.seed = 3});
      },
      dataset(), dataset(), 3);
}

}  // namespace

BOOST_AUTO_TEST_CASE(statistics_of_all_rows_do_not_depend_on_the_replicas) {
  if (test::environment().world().size() > 1) return;
  auto const check = [&](auto const&... layers) {
    auto const reference = train(OneDeviceStrategy<>(), layers...);
    test::check_same_run(train(test::pjrt_strategy(3), layers...), reference, 1e-12);
  };
  check(Dense<4, NoBias>{}, SyncBatchNormalization<>{.momentum = 0.8}, Tanh{}, Dense<3>{},
        SyncBatchNormalization<Axis<1>, NoScale>{.epsilon = 1e-2});
  check(Dense<4, NoBias>{}, SyncBatchNormalization<NoCenter>{.momentum = 0.8},
        Frozen{Sequential{Dense<4, Tanh>{}, SyncBatchNormalization<>{}}}, Dense<3>{});
}

/// A replica's rows are those of a virtual one, or of a rank.
BOOST_AUTO_TEST_CASE(statistics_of_a_replica_are_those_of_as_many_ranks_or_virtual_replicas) {
  auto const& world = test::environment().world();
  auto const layers = [](auto const& strategy) {
    return train(strategy, Dense<4, NoBias>{}, BatchNormalization<>{.momentum = 0.8}, Tanh{}, Dense<3>{},
                 BatchNormalization<Axis<1>>{});
  };
  if (world.size() == 1) {
    test::check_same_run(layers(test::pjrt_strategy(1)), layers(OneDeviceStrategy<>()), 1e-12);
    test::check_same_run(layers(test::pjrt_strategy(3)), layers(VirtualReplicas<OneDeviceStrategy<>, 3>()), 1e-12);
  } else {
    auto const run = layers(MultiWorkerPjrtStrategy(world, test::pjrt_strategy(1)));
    test::check_same_run(run, layers(MultiWorkerMirroredStrategy<>(world)), 1e-12);
    test::check_equal_on_all(world, run.first);
  }
}

BOOST_AUTO_TEST_CASE(parts_of_a_tuple_move_the_states_one_after_the_other) {
  if (test::environment().world().size() > 1) return;
  auto const run = [](auto const& strategy) {
    return train(strategy, Fork{Dense<3, NoBias>{}, Dense<3, NoBias>{}},
                 Each{SyncBatchNormalization<>{.momentum = 0.7}}, Concatenate{});
  };
  test::check_same_run(run(test::pjrt_strategy(3)), run(OneDeviceStrategy<>()), 1e-12);
}

BOOST_AUTO_TEST_CASE(statistics_of_all_rows_are_refused_on_several_processes) {
  auto const& world = test::environment().world();
  if (world.size() == 1) return;
  BOOST_CHECK_EXCEPTION(train(MultiWorkerPjrtStrategy(world, test::pjrt_strategy(1)), SyncBatchNormalization<>{}),
                        ValueError, [](ValueError const& error) {
                          return error.uniform() &&
                                 std::string(error.what()).find("SyncBatchNormalization sums over all processes") == 0;
                        });
}
