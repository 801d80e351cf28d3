// ranks: 1 2 3 4   labels: law
// Law 1, rows of the table in support/law_table.hpp: shards of gradients too.
#define BOOST_TEST_MODULE law_shards_2
#include "support/law_table.hpp"

#include "trireme/strategies/sharded/sharded.hpp"

using namespace trireme;
using namespace trireme::test::law;

BOOST_AUTO_TEST_CASE(sharded) {
  check_row<Mlp, Cnn, Normalization, Lstm, Attention>("Sharded of stage 2",
                                                      ShardedStrategy<Kokkos::DefaultExecutionSpace, 2>(world()));
}
