// Every metric gives Keras's results after each batch, with and without weights, in float and double.
#define BOOST_TEST_MODULE parity_metrics
#include "support/kokkos_fixture.hpp"

#include "parity/metric_cases.hpp"
#include "trireme/backend/execution/thread_context.hpp"

BOOST_AUTO_TEST_CASE(metrics_have_keras_results) { trireme::test::check_metrics<trireme::ThreadContext>(); }
