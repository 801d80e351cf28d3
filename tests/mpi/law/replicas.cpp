// ranks: 1 2 3 4   labels: law
// Law 1, rows of the table in support/law_table.hpp: replicas that hold the whole model.
#define BOOST_TEST_MODULE law_replicas
#include "support/law_table.hpp"

#include "trireme/strategies/data_parallel/mirrored.hpp"
#include "trireme/strategies/data_parallel/multi_worker_mirrored.hpp"

using namespace trireme;
using namespace trireme::test::law;

/// As many as ranks, and one more; the processes have nothing to do with each other.
BOOST_AUTO_TEST_CASE(mirrored) {
  check_row<Mlp, Cnn, Normalization, Lstm, Attention>("Mirrored", MirroredStrategy<>(world().size() + 1),
                                                      {Parallelism::samples, Parallelism::intra_op});
}

BOOST_AUTO_TEST_CASE(multi_worker_mirrored) {
  check_row<Mlp, Cnn, Normalization, Lstm, Attention>("MultiWorkerMirrored", MultiWorkerMirroredStrategy<>(world()),
                                                      {Parallelism::intra_op, Parallelism::samples});
  check_row<Mlp, Cnn, Normalization, Lstm, Attention>(
      "MultiWorkerMirrored with messages", MultiWorkerMirroredStrategy<>(world(), {}, 256, Exchange::messages),
      {Parallelism::samples, Parallelism::intra_op});
}
