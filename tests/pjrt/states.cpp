// ranks: 1 2 3
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

/// Checks that a run is that of one device, on 3 replicas of one rank, 2 of each of two, or on three ranks.
template <class Run>
void check_on_ranks_and_replicas(Run const& run) {
  auto const& world = test::environment().world();
  auto const found = run(MultiWorkerPjrtStrategy(world, test::pjrt_strategy(4 - world.size())));
  test::check_same_run(found, run(OneDeviceStrategy<>()), 1e-12);
  test::check_equal_on_all(world, found.first);
}

}  // namespace

BOOST_AUTO_TEST_CASE(statistics_of_all_rows_depend_neither_on_replicas_nor_on_processes) {
  check_on_ranks_and_replicas([](auto const& strategy) {
    return train(strategy, Dense<4, NoBias>{}, SyncBatchNormalization<>{.momentum = 0.8}, Tanh{}, Dense<3>{},
                 SyncBatchNormalization<Axis<1>, NoScale>{.epsilon = 1e-2});
  });
  check_on_ranks_and_replicas([](auto const& strategy) {
    return train(strategy, Dense<4, NoBias>{}, SyncBatchNormalization<NoCenter>{.momentum = 0.8},
                 Frozen{Sequential{Dense<4, Tanh>{}, SyncBatchNormalization<>{}}}, Dense<3>{});
  });
}

/// Values of one branch wait on the device while another one sums over the processes.
BOOST_AUTO_TEST_CASE(branches_of_a_graph_go_on_behind_a_sum_over_processes) {
  check_on_ranks_and_replicas([](auto const& strategy) {
    return train(strategy, Dense<4, NoBias>{},
                 Residual{Sequential{SyncBatchNormalization<>{}, Dropout{.rate = 0.25f}, Dense<4, Tanh, NoBias>{},
                                     SyncBatchNormalization<>{.momentum = 0.8}}},
                 LSTM<3, ReturnSequences>{});
  });
}

/// The processes have no gradients to exchange then.
BOOST_AUTO_TEST_CASE(a_model_whose_layers_are_all_frozen_is_fitted) {
  check_on_ranks_and_replicas([](auto const& strategy) {
    return test::run(
        strategy,
        [](auto const& where) {
          return compile<double>(where,
                                 Sequential{Input<5, 2>{}, Frozen{Dense<3, Tanh>{}}, Flatten{},
                                            Frozen{Sequential{Dense<2>{}, SyncBatchNormalization<>{}}}},
                                 SGD{.momentum = 0.5}, MeanSquaredError{}, CompileOptions{.seed = 3});
        },
        dataset(), dataset(), 2);
  });
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
  check_on_ranks_and_replicas([](auto const& strategy) {
    return train(strategy, Fork{Dense<3, NoBias>{}, Dense<3, NoBias>{}},
                 Each{SyncBatchNormalization<>{.momentum = 0.7}}, Concatenate{});
  });
}

/// Between 1 and 5 rows each, and in the last batch of an epoch none on some.
BOOST_AUTO_TEST_CASE(processes_and_replicas_without_rows_take_part_in_sums) {
  static auto const x = test::make_samples<double>(19, {5, 2}, 2, 3).x;
  static auto const y = test::make_samples<double>(19, {2}, 2, 7).x;
  auto const data = data::from_tensor_slices(x, y).batch(GlobalBatch{6});  // the last batch has 1 row
  check_on_ranks_and_replicas([&](auto const& strategy) {
    return test::run(
        strategy,
        [](auto const& where) {
          return compile<double>(where,
                                 Sequential{Input<5, 2>{}, Dense<4, NoBias>{}, SyncBatchNormalization<>{},
                                            Dense<3, Tanh>{}, Flatten{}, Dense<2>{}},
                                 SGD{.learning_rate = 0.05, .momentum = 0.5}, MeanSquaredError{},
                                 CompileOptions{.seed = 3});
        },
        data, data, 2);
  });
}
