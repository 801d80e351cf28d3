// Each layer on a device gives Keras's output and gradients, in float and double.
#define BOOST_TEST_MODULE device_layers
#include "support/device.hpp"

#include "support/kokkos_fixture.hpp"

#include "parity/join_cases.hpp"
#include "parity/layer_cases.hpp"
#include "parity/normalization_cases.hpp"
#include "parity/sequence_cases.hpp"
#include "parity/window_cases.hpp"

using namespace trireme::test;

using DeviceCase = LayerCase<trireme::SpaceContext<Device>>;

BOOST_AUTO_TEST_CASE(layers_without_windows) { check_plain_layers<DeviceCase>(); }
BOOST_AUTO_TEST_CASE(layers_with_windows) { check_window_layers<DeviceCase>(); }
BOOST_AUTO_TEST_CASE(layers_over_sequences) { check_sequence_layers<DeviceCase>(); }
BOOST_AUTO_TEST_CASE(batch_normalization) { check_batch_normalization<DeviceCase>(); }
BOOST_AUTO_TEST_CASE(joins) { check_joins<DeviceCase>(); }
