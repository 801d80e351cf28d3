// ranks: 1 2 3 4   labels: law
// Law 1, rows of the table in support/law_table.hpp: shards whose number says the result.
#define BOOST_TEST_MODULE law_virtual_replicas
#include "support/law_table.hpp"

#include "trireme/strategies/data_parallel/multi_worker_mirrored.hpp"
#include "trireme/strategies/data_parallel/virtual_replicas.hpp"

using namespace trireme;
using namespace trireme::test::law;

BOOST_AUTO_TEST_CASE(virtual_replicas) {
  check_row<Mlp, Cnn, Normalization, Lstm, Attention>("VirtualReplicas",
                                                      VirtualReplicas<MultiWorkerMirroredStrategy<>, 5>(world()));
}
