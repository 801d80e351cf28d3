// ranks: 1 2 3   labels: law
// Law 1 for graphs of named nodes: gradients are final in the order of the arena, shards and pieces agree.
#define BOOST_TEST_MODULE graphs
#include "support/kokkos_fixture.hpp"
#include "support/law_models.hpp"
#include "support/ranks_law.hpp"
#include "support/small_training.hpp"

#include <cstddef>

#include "trireme/layers/batch_normalization.hpp"
#include "trireme/models/branches.hpp"
#include "trireme/models/frozen.hpp"
#include "trireme/models/graph.hpp"
#include "trireme/models/tuples.hpp"
#include "trireme/strategies/data_parallel/accumulate.hpp"
#include "trireme/strategies/data_parallel/one_device.hpp"
#include "trireme/strategies/sharded/sharded.hpp"

using namespace trireme;
using test::law::trained, test::law::Training;

namespace {

Communicator const& world() { return test::environment().world(); }

/// Of batches of 2 some ranks and most pieces have no rows.
template <class Strategy, class Architecture>
void check(Strategy const& strategy, Architecture const& graph, Parallelism parallelism) {
  for (std::size_t batch : {13u, 2u})
    trained<double>(OneDeviceStrategy<>(), graph, Training{.batch = batch},
                    [&](auto const& reference, History const& expected) {
                      trained<double>(strategy, graph, Training{.parallelism = parallelism, .batch = batch},
                                      [&](auto const& model, History const& history) {
                                        double const limit = (batch == 2 ? 30 : 3) * test::tolerance<double>;
                                        test::check_same_weights(model, reference, limit);
                                        test::check_same_history(history, expected, limit);
                                      });
                    });
}

}  // namespace

BOOST_AUTO_TEST_CASE(graphs_train_on_ranks_as_on_one_device) { test::check_law<double>(test::law::graph()); }

BOOST_AUTO_TEST_CASE(graphs_train_in_shards_as_on_one_device) {
  check(ShardedStrategy<Kokkos::DefaultExecutionSpace, 3>(world()), test::law::graph(), Parallelism::intra_op);
}

BOOST_AUTO_TEST_CASE(graphs_train_in_pieces_as_on_one_device) {
  auto const graph = Graph{test::law::input(),
                           node<"flat">(Flatten{}),
                           node<"a">(Dense<6, Tanh>{}),
                           node<"b", "flat">(Dense<6>{}),
                           node<"sum", "a", "b">(Add{}),
                           node<"both", "sum", "a">(Concatenate{}),
                           node<"head">(Dense<test::classes>{})};
  constexpr std::size_t a_bucket_a_parameter = 1;
  for (Parallelism parallelism : {Parallelism::samples, Parallelism::intra_op})
    check(Accumulate<MultiWorkerMirroredStrategy<>, 3>(world(), Kokkos::DefaultExecutionSpace(), a_bucket_a_parameter,
                                                       Exchange::messages),
          graph, parallelism);
}
