// Joins of tensors give Keras's output and gradients, in float and double, on a thread and on a host space.
#define BOOST_TEST_MODULE parity_layers_joins
#include "support/kokkos_fixture.hpp"

#include "parity/join_cases.hpp"
#include "parity/layers.hpp"

using namespace trireme::test;

BOOST_AUTO_TEST_CASE(joins_have_keras_outputs_and_gradients) { check_joins<HostLayerCase>(); }
