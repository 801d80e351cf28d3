// Each loss, metric and optimizer on a device gives Keras's numbers, in float and double.
#define BOOST_TEST_MODULE device_steps
#include "support/device.hpp"

#include "support/kokkos_fixture.hpp"

#include "trireme/backend/execution/space_context.hpp"

#include "parity/loss_cases.hpp"
#include "parity/metric_cases.hpp"
#include "parity/optimizer_cases.hpp"

using namespace trireme::test;

using Context = trireme::SpaceContext<Device>;

BOOST_AUTO_TEST_CASE(losses) { check_losses<Context>(); }
BOOST_AUTO_TEST_CASE(metrics) { check_metrics<Context>(); }
BOOST_AUTO_TEST_CASE(optimizers) { check_optimizers<Context>(); }
