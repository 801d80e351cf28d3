// BatchNormalization gives Keras's output, gradients and moving statistics, in float and double, in both host contexts.
#define BOOST_TEST_MODULE parity_batch_normalization
#include "support/kokkos_fixture.hpp"

#include "parity/layers.hpp"
#include "parity/normalization_cases.hpp"

using namespace trireme::test;

BOOST_AUTO_TEST_CASE(batch_normalization_has_keras_outputs_gradients_and_moving_statistics) {
  check_batch_normalization<HostLayerCase>();
}
