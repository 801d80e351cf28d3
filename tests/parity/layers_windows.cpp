// Conv2D, 2-D pooling and up-sampling give Keras's output and gradients, in float and double, on a thread and on a host
// space.
#define BOOST_TEST_MODULE parity_layers_windows
#include "support/kokkos_fixture.hpp"

#include "parity/layers.hpp"
#include "parity/window_cases.hpp"

using namespace trireme::test;

BOOST_AUTO_TEST_CASE(layers_with_windows_have_keras_outputs_and_gradients) { check_window_layers<HostLayerCase>(); }
