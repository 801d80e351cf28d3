// Every optimizer takes Keras's steps, in float and double. The configurations hold what differs from the defaults.
#define BOOST_TEST_MODULE parity_optimizers
#include "support/kokkos_fixture.hpp"

#include "parity/optimizer_cases.hpp"
#include "trireme/backend/execution/thread_context.hpp"

BOOST_AUTO_TEST_CASE(optimizers_take_keras_steps) { trireme::test::check_optimizers<trireme::ThreadContext>(); }
