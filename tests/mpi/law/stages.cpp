// ranks: 1 2 3 4   labels: law
// Law 1, rows of the table in support/law_table.hpp: stages of a pipeline, and pipelines beside each other.
#define BOOST_TEST_MODULE law_stages
#include "support/law_table.hpp"

#include "trireme/strategies/pipeline/pipeline.hpp"

using namespace trireme;
using namespace trireme::test::law;

BOOST_AUTO_TEST_CASE(pipeline) {
  for (std::size_t stages = 1; stages <= world().size(); ++stages) {
    if (world().size() % stages != 0) continue;
    std::string const name =
        std::to_string(stages) + " stages in " + std::to_string(world().size() / stages) + " pipelines";
    auto const strategy = [&](std::size_t micro_batches) {
      return PipelineStrategy<>(world(), {.micro_batches = micro_batches, .stages = stages});
    };
    check_row<Mlp, Cnn, Lstm, Attention>(name, strategy(3));
    // Each micro-batch has statistics of its own.
    check_row<Normalization>(name, strategy(1));
  }
}
