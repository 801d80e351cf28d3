// ranks: 1 2 3 4   labels: law
// Law 1, rows of the table in support/law_table.hpp: gradients that are sent in a form which loses nothing.
#define BOOST_TEST_MODULE law_compressed
#include "support/law_table.hpp"

#include "trireme/strategies/data_parallel/compressed.hpp"
#include "trireme/strategies/data_parallel/multi_worker_mirrored.hpp"

using namespace trireme;
using namespace trireme::test::law;

BOOST_AUTO_TEST_CASE(compressed) {
  MultiWorkerMirroredStrategy<> const ranks(world());
  check_row<Mlp, Cnn, Normalization, Lstm, Attention>("Compressed to double", Compressed(ranks, double{}),
                                                      {Parallelism::samples, Parallelism::intra_op});
  check_row<Mlp>("Compressed to all values", Compressed(ranks, TopK{.fraction = 1}));
}
