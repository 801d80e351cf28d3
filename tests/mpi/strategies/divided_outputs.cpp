// ranks: 1 2 3 4   labels: law
// Law 1 for models of several inputs and outputs that no process holds whole: in shards, in stages.
#define BOOST_TEST_MODULE divided_outputs
#include "support/kokkos_fixture.hpp"
#include "support/tuple_models.hpp"

#include <cstddef>
#include <string>

#include "trireme/strategies/data_parallel/one_device.hpp"
#include "trireme/strategies/pipeline/pipeline.hpp"
#include "trireme/strategies/sharded/sharded.hpp"

using namespace trireme;
using namespace trireme::test::tuples;

namespace {

using T = double;
using Space = Kokkos::DefaultExecutionSpace;
Communicator const& world() { return test::environment().world(); }

/// Batches of 7 are uneven over ranks and micro-batches; of batches of 2 some have nothing.
template <class Architecture, class Check>
void with_reference(Architecture const& architecture, Check const& check) {
  for (std::size_t batch : {7u, 2u})
    trained<T>(OneDeviceStrategy<>(), architecture, Parallelism::intra_op, batch,
               [&](auto const& reference, auto const& expected, auto const& predicted, auto const& evaluated) {
                 check([&](std::string const& name, auto const& strategy) {
                   BOOST_TEST_CONTEXT(name << ", batches of " << batch)
                   trained<T>(strategy, architecture, Parallelism::intra_op, batch,
                              [&](auto const& model, History const& history, auto const& prediction, auto const& logs) {
                                constexpr double limit = 30 * test::tolerance<T>;
                                test::check_same_weights(model, reference, limit);
                                test::check_same_history(history, expected, limit);
                                test::check_same_logs(logs, evaluated, limit);
                                BOOST_TEST(test::distance(prediction[0], predicted[0]) <= limit);
                                BOOST_TEST(test::distance(prediction[1], predicted[1]) <= limit);
                              });
                 });
               });
}

template <class Architecture>
void check_shards(Architecture const& architecture) {
  with_reference(architecture, [](auto const& train) {
    train("stage 1", ShardedStrategy<Space, 1>(world()));
    train("stage 3", ShardedStrategy<Space, 3>(world()));
  });
}

template <class Architecture>
void check_stages(Architecture const& architecture, std::size_t micro_batches) {
  constexpr std::size_t most = ParameterCuts<Architecture>::size() + 1;
  with_reference(architecture, [&](auto const& train) {
    for (std::size_t stages = 1; stages <= std::min(most, world().size()); ++stages)
      if (world().size() % stages == 0)
        train(std::to_string(stages) + " stages",
              PipelineStrategy<Space>(world(), {.micro_batches = micro_batches, .stages = stages}));
  });
}

}  // namespace

BOOST_AUTO_TEST_CASE(shared_towers_train_in_shards) { check_shards(towers()); }

BOOST_AUTO_TEST_CASE(a_decoder_trains_in_shards) { check_shards(decoder()); }

BOOST_AUTO_TEST_CASE(shared_towers_train_in_stages) { check_stages(towers(), 3); }

BOOST_AUTO_TEST_CASE(shared_statistics_of_the_global_batch_reach_over_pipelines) {
  check_stages(normalized_towers(), 1);
}

BOOST_AUTO_TEST_CASE(a_decoder_trains_in_stages) { check_stages(decoder(), 3); }
