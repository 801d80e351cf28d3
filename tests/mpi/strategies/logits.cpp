// ranks: 1 2 3   labels: law
// Outputs that end in the activation which their loss would undo, under strategies that run the layers themselves.
#define BOOST_TEST_MODULE logits
#include "support/logits.hpp"
#include "support/kokkos_fixture.hpp"

#include "trireme/strategies/data_parallel/multi_worker_mirrored.hpp"
#include "trireme/strategies/parameter_server/parameter_server.hpp"
#include "trireme/strategies/pipeline/pipeline.hpp"
#include "trireme/strategies/sharded/sharded.hpp"

using namespace trireme;

BOOST_AUTO_TEST_CASE(outputs_on_logits_train_and_are_predicted_as_on_one_device) {
  auto const& world = test::environment().world();
  using Space = Kokkos::DefaultExecutionSpace;
  auto const check = [&](char const* name, auto const& strategy) {
    BOOST_TEST_CONTEXT(name) test::check_outputs_on_logits(strategy, 1e-11);
  };
  check("workers", MultiWorkerMirroredStrategy<>(world));
  check("shards of gradients", ShardedStrategy<Space, 1>(world));
  check("shards of weights", ShardedStrategy<Space, 3>(world));
  if (world.size() < 3) check("stages", PipelineStrategy<>(world, {.micro_batches = 2}));  // of two layers
  check("servers", ParameterServerStrategy<>(world, {.staleness = 0}));
}
