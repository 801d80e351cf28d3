// ranks: 1 2 3 4   labels: law
// Law 1, rows of the table in support/law_table.hpp: workers and servers that wait for each other.
#define BOOST_TEST_MODULE law_servers
#include "support/law_table.hpp"

#include "trireme/strategies/parameter_server/parameter_server.hpp"

using namespace trireme;
using namespace trireme::test::law;

BOOST_AUTO_TEST_CASE(parameter_server) {
  check_row<Mlp, Cnn, Normalization, Lstm, Attention>("ParameterServer",
                                                      ParameterServerStrategy<>(world(), {.staleness = 0}));
}

/// How the ranks are divided is nothing to a layer, unless it adds up rows.
BOOST_AUTO_TEST_CASE(parameter_server_with_other_roles) {
  if (world().size() > 2)
    check_row<Mlp, Normalization>("ParameterServer with two servers",
                                  ParameterServerStrategy<>(world(), {.servers = 2, .staleness = 0}));
  if (world().size() == 4)
    check_row<Mlp, Normalization>("ParameterServer with an evaluator",
                                  ParameterServerStrategy<>(world(), {.staleness = 0, .evaluator = true}));
}
