// ranks: 1 2 3
// Models whose parameters are divided over devices train as on one host: rows of the table in support/law_table.hpp.
#define BOOST_TEST_MODULE device_divided_models
#include "support/device.hpp"

#include "support/law_table.hpp"

#include "trireme/strategies/parameter_server/parameter_server.hpp"
#include "trireme/strategies/pipeline/pipeline.hpp"
#include "trireme/strategies/sharded/sharded.hpp"

using namespace trireme;
using namespace trireme::test::law;

namespace {

/// Not the default instance, whose queue Kokkos uses where a call names no space.
test::Device device() { return test::device(1 + world().rank()); }

}  // namespace

BOOST_AUTO_TEST_CASE(sharded) {
  check_row<Mlp, Normalization>("Sharded of stage 1", ShardedStrategy<test::Device, 1>(world(), device()));
  check_row<Mlp, Normalization>("Sharded of stage 3", ShardedStrategy<test::Device, 3>(world(), device()));
}

BOOST_AUTO_TEST_CASE(pipeline) {
  check_row<Mlp>("Pipeline",
                 PipelineStrategy<test::Device>(world(), {.micro_batches = 3, .stages = world().size()}, device()));
}

BOOST_AUTO_TEST_CASE(parameter_server) {
  check_row<Mlp>("ParameterServer", ParameterServerStrategy<test::Device>(world(), {.staleness = 0}, device()));
}
