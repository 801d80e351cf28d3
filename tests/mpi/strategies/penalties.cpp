// ranks: 1 2 3   labels: law
// Penalties of weights belong to the logged loss once, whatever a loss leaves out.
#define BOOST_TEST_MODULE penalties
#include "support/kokkos_fixture.hpp"
#include "support/masked_penalties.hpp"

#include "trireme/strategies/data_parallel/accumulate.hpp"
#include "trireme/strategies/data_parallel/local_sgd.hpp"
#include "trireme/strategies/data_parallel/mirrored.hpp"
#include "trireme/strategies/data_parallel/multi_worker_mirrored.hpp"
#include "trireme/strategies/parameter_server/parameter_server.hpp"
#include "trireme/strategies/sharded/sharded.hpp"

using namespace trireme;

BOOST_AUTO_TEST_CASE(the_loss_has_the_whole_penalty_whichever_samples_have_labels) {
  auto const& world = test::environment().world();
  using Workers = MultiWorkerMirroredStrategy<>;
  using Space = Kokkos::DefaultExecutionSpace;
  BOOST_TEST_CONTEXT("workers") test::check_masked_penalties(Workers(world));
  BOOST_TEST_CONTEXT("pieces") test::check_masked_penalties(Accumulate<Workers, 2>(world));
  BOOST_TEST_CONTEXT("local steps") test::check_masked_penalties(LocalSGD<Workers, 2>(world));
  BOOST_TEST_CONTEXT("shards of gradients") test::check_masked_penalties(ShardedStrategy<Space, 1>(world));
  BOOST_TEST_CONTEXT("shards of weights") test::check_masked_penalties(ShardedStrategy<Space, 3>(world));
  BOOST_TEST_CONTEXT("servers") test::check_masked_penalties(ParameterServerStrategy<>(world, {.staleness = 0}));
}
