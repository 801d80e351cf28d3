// Layers without windows give Keras's output and gradients, in float and double, on a thread and on a host space.
#define BOOST_TEST_MODULE parity_layers
#include "support/kokkos_fixture.hpp"

#include "parity/layer_cases.hpp"
#include "parity/layers.hpp"

using namespace trireme::test;

BOOST_AUTO_TEST_CASE(layers_without_windows_have_keras_outputs_and_gradients) { check_plain_layers<HostLayerCase>(); }
