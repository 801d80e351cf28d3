// ranks: 1 2 3 4   labels: law
// Law 1, rows of the table in support/law_table.hpp: batches in pieces.
#define BOOST_TEST_MODULE law_accumulate
#include "support/law_table.hpp"

#include "trireme/strategies/data_parallel/accumulate.hpp"
#include "trireme/strategies/data_parallel/multi_worker_mirrored.hpp"

using namespace trireme;
using namespace trireme::test::law;

BOOST_AUTO_TEST_CASE(accumulate) {
  using Pieces = Accumulate<MultiWorkerMirroredStrategy<>, 3>;
  Kokkos::DefaultExecutionSpace const space;
  // No normalization: SyncBatchNormalization, too, has the statistics of a piece.
  check_row<Mlp, Cnn, Lstm, Attention>("Accumulate", Pieces(world()), {Parallelism::samples, Parallelism::intra_op});
  check_row<Mlp, Cnn, Lstm, Attention>("Accumulate with messages", Pieces(world(), space, 256, Exchange::messages),
                                       {Parallelism::intra_op, Parallelism::samples});
}
