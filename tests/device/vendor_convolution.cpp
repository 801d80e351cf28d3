// Convolutions by a vendor's library give Keras's outputs and gradients, and train as on a host: cuDNN's on a GPU where
// it is linked, and on the device in software one by the definition, with the library's layouts.
#define BOOST_TEST_MODULE device_vendor_convolution
#include "support/device.hpp"

#include "support/kokkos_fixture.hpp"
#include "support/vendor_convolutions.hpp"

#include <cstddef>

#include "parity/window_cases.hpp"
#include "support/small_training.hpp"
#include "trireme/backend/execution/space_context.hpp"
#include "trireme/compile.hpp"
#include "trireme/fit.hpp"
#include "trireme/losses/sparse_categorical_crossentropy.hpp"
#include "trireme/metrics/accuracy.hpp"
#include "trireme/optimizers/adam.hpp"
#include "trireme/strategies/data_parallel/one_device.hpp"

using namespace trireme;

namespace {

template <class Strategy, class Check>
void trained(Strategy const& strategy, Check const& check) {
  auto const samples = test::cnn_samples<double>(22), others = test::cnn_samples<double>(9, 2);
  auto model = compile<double>(strategy, test::cnn(), Adam{}, SparseCategoricalCrossentropy{.from_logits = true},
                               Accuracy{}, CompileOptions{.seed = 5});
  auto const history = fit(strategy, model, samples.data().shuffle(100, 3).batch(GlobalBatch{5}),
                           validation(others.data().batch(GlobalBatch{9})), {.epochs = 3, .verbose = false});
  check(model, history);
}

}  // namespace

BOOST_AUTO_TEST_CASE(layers_have_the_outputs_and_gradients_of_keras) {
  std::size_t const before = test::vendor_convolutions;
  test::check_window_layers<test::LayerCase<SpaceContext<test::Device>>>();
  BOOST_TEST(test::vendor_convolutions >= before + 3 * 12 * test::counts_vendor_convolutions);  // of twelve windows
}

BOOST_AUTO_TEST_CASE(a_device_trains_as_a_host_recorded_or_not_and_where_the_library_lacks_a_pass) {
  trained(OneDeviceStrategy<>(), [](auto const& reference, History const& expected) {
    for (bool const record : {false, true})
      for (test::VendorLacks const lack : {test::VendorLacks::nothing, test::VendorLacks::kernel_gradients}) {
        test::vendor_lacks = lack;
        std::size_t const before = test::vendor_convolutions;
        OneDeviceStrategy<test::Device> const strategy(DeviceOptions{.record_steps = record}, test::device(1));
        trained(strategy, [&](auto const& model, History const& history) {
          test::check_same_weights(model, reference, 1e-12);
          test::check_same_history(history, expected, 1e-12);
        });
        BOOST_TEST((test::vendor_convolutions > before || !test::counts_vendor_convolutions));
      }
  });
  test::vendor_lacks = test::VendorLacks::nothing;
}
