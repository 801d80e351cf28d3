// ranks: 1 2 3
// A steady step of each rank allocates nothing with operator new or Kokkos; what MPI takes from malloc is its own.
#define BOOST_TEST_MODULE allocations
#include "support/kokkos_fixture.hpp"
#include "support/small_training.hpp"
#include "support/steady_steps.hpp"

#include <algorithm>
#include <cstddef>

#include "trireme/optimizers/adam.hpp"
#include "trireme/optimizers/sgd.hpp"
#include "trireme/strategies/data_parallel/multi_worker_mirrored.hpp"
#include "trireme/strategies/parameter_server/parameter_server.hpp"
#include "trireme/strategies/sharded/sharded.hpp"

using namespace trireme;

BOOST_AUTO_TEST_CASE(a_step_of_several_ranks_allocates_nothing_for_any_bucket_size) {
  auto const samples = test::mlp_samples<float>(61), others = test::mlp_samples<float>(27, 2);
  auto const train = samples.data().shuffle(61, 7).batch(GlobalBatch{5}).prefetch(2);
  auto const tests = others.data().batch(GlobalBatch{4});
  for (std::size_t bucket_bytes : {std::size_t{1}, std::size_t{600}, std::size_t{1} << 20}) {
    MultiWorkerMirroredStrategy<> const strategy(test::environment().world(), {}, bucket_bytes);
    test::check_steady(strategy, test::mlp(), SGD{.learning_rate = 0.1, .global_clipnorm = 0.1}, train, tests, false);
  }
}

BOOST_AUTO_TEST_CASE(a_convolutional_step_of_several_ranks_allocates_nothing) {
  auto const samples = test::cnn_samples<float>(61), others = test::cnn_samples<float>(27, 2);
  MultiWorkerMirroredStrategy<> const strategy(test::environment().world());
  test::check_steady(strategy, test::cnn(), Adam{}, samples.weighted_data().batch(GlobalBatch{5}),
                     others.data().batch(GlobalBatch{4}), false);
}

BOOST_AUTO_TEST_CASE(a_step_of_shards_allocates_nothing) {
  auto const samples = test::mlp_samples<float>(61), others = test::mlp_samples<float>(27, 2);
  auto const train = samples.data().batch(GlobalBatch{5});
  auto const tests = others.data().batch(GlobalBatch{4});
  auto const check = [&](auto const& strategy) {
    test::check_steady(strategy, test::mlp(), SGD{.learning_rate = 0.1, .global_clipnorm = 0.1}, train, tests, false,
                       {.epochs = 3, .verbose = false}, {Parallelism::intra_op});
  };
  using Space = Kokkos::DefaultExecutionSpace;
  check(ShardedStrategy<Space, 1>(test::environment().world()));
  check(ShardedStrategy<Space, 2>(test::environment().world()));
  check(ShardedStrategy<Space, 3>(test::environment().world()));
}

BOOST_AUTO_TEST_CASE(a_step_of_workers_and_servers_allocates_nothing) {
  auto const samples = test::mlp_samples<float>(61), others = test::mlp_samples<float>(27, 2);
  auto const& world = test::environment().world();
  for (std::size_t servers = 1; servers < std::max<std::size_t>(2, world.size()); ++servers)
    test::check_steady(ParameterServerStrategy<>(world, {.servers = servers, .staleness = 0}), test::mlp(),
                       SGD{.learning_rate = 0.1, .momentum = 0.9}, samples.data().batch(GlobalBatch{5}),
                       others.data().batch(GlobalBatch{4}), false);
}
