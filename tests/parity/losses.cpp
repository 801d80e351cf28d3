// Every loss gives Keras's values, reductions and gradients, weighted and not, in float and double.
#define BOOST_TEST_MODULE parity_losses
#include "support/kokkos_fixture.hpp"

#include "parity/loss_cases.hpp"
#include "trireme/backend/execution/thread_context.hpp"

BOOST_AUTO_TEST_CASE(losses_have_keras_values_and_gradients) { trireme::test::check_losses<trireme::ThreadContext>(); }
