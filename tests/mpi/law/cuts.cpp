// ranks: 2 4   labels: law
// Law 1, rows of the table in support/law_table.hpp: stages whose layers the type says, some of them without
// parameters.
#define BOOST_TEST_MODULE law_cuts
#include "support/law_table.hpp"

#include "trireme/strategies/pipeline/pipeline.hpp"

using namespace trireme;
using namespace trireme::test::law;

namespace {

template <std::size_t... Cuts>
void check_cuts(char const* name) {
  using Strategy = PipelineStrategy<Kokkos::DefaultExecutionSpace, Cuts...>;
  check_row<Mlp, Cnn, Lstm, Attention>(name, Strategy(world(), {.micro_batches = 4}));
  // Each micro-batch has statistics of its own.
  check_row<Normalization>(name, Strategy(world(), {.micro_batches = 1}));
}

}  // namespace

/// Of four ranks, two pipelines.
BOOST_AUTO_TEST_CASE(pipeline_of_two_stages) { check_cuts<2>("Pipeline<2>"); }

BOOST_AUTO_TEST_CASE(pipeline_of_four_stages) {
  if (world().size() == 4) check_cuts<2, 3, 4>("Pipeline<2, 3, 4>");
}
