// Layers over sequences give Keras's output and gradients, in float and double, on a thread and on a host space.
#define BOOST_TEST_MODULE parity_layers_sequences
#include "support/kokkos_fixture.hpp"

#include "parity/layers.hpp"
#include "parity/sequence_cases.hpp"

using namespace trireme::test;

BOOST_AUTO_TEST_CASE(layers_over_sequences_have_keras_outputs_and_gradients) { check_sequence_layers<HostLayerCase>(); }
