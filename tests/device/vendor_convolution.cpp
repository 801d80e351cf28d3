// Convolutions by a vendor's library, which those of short numbers are, give Keras's outputs and gradients, and train
// as on a host: cuDNN's on a GPU where it is linked, and on the device in software one by the definition, with the
// library's layouts.
#define BOOST_TEST_MODULE device_vendor_convolution
#include "support/device.hpp"

#include "support/twin_graph.hpp"

#include "support/device_values.hpp"
#include "support/kokkos_fixture.hpp"
#include "support/vendor_convolutions.hpp"

#include <cstddef>
#include <string>
#include <vector>

#include "parity/window_cases.hpp"
#include "support/small_training.hpp"
#include "trireme/backend/convolution/convolution_pass.hpp"
#include "trireme/backend/convolution/device_convolution.hpp"
#include "trireme/backend/convolution/window.hpp"
#include "trireme/backend/execution/space_context.hpp"
#include "trireme/backend/execution/storing_context.hpp"
#include "trireme/compile.hpp"
#include "trireme/fit.hpp"
#include "trireme/losses/sparse_categorical_crossentropy.hpp"
#include "trireme/metrics/accuracy.hpp"
#include "trireme/models/mixed.hpp"
#include "trireme/optimizers/adam.hpp"
#include "trireme/strategies/data_parallel/one_device.hpp"
#include "trireme/tensor/bfloat16.hpp"

using namespace trireme;

namespace {

template <class Precision, class Strategy, class Check>
void trained(Strategy const& strategy, Check const& check) {
  auto const samples = test::cnn_samples<double>(22), others = test::cnn_samples<double>(9, 2);
  auto model = compile<Precision>(strategy, test::cnn(), Adam{}, SparseCategoricalCrossentropy{.from_logits = true},
                                  Accuracy{}, CompileOptions{.seed = 5});
  auto const history = fit(strategy, model, samples.data().shuffle(100, 3).batch(GlobalBatch{5}),
                           validation(others.data().batch(GlobalBatch{9})), {.epochs = 5, .verbose = false});
  check(model, history);
}

/// Short numbers, of which a double has all bits of a product.
using Short = Mixed<BFloat16, double>;

/// \param by_library  true if some convolution is the library's
template <class Precision>
void check_device(bool record, bool by_library, double limit) {
  trained<Precision>(
      OneDeviceStrategy<Kokkos::DefaultHostExecutionSpace>(), [&](auto const& reference, History const& expected) {
        std::size_t const before = test::vendor_convolutions;
        OneDeviceStrategy<test::Device> const strategy(DeviceOptions{.record_steps = record}, test::device(1));
        trained<Precision>(strategy, [&](auto& model, History const& history) {
          test::check_same_weights(model, reference, limit);
          test::check_same_history(history, expected, limit);
          std::string const placement = model.engine().placement();
          BOOST_TEST((placement.find(", steps recorded") != std::string::npos) == record, placement);
        });
        BOOST_TEST((test::vendor_convolutions > before) == (by_library && test::counts_vendor_convolutions));
      });
}

struct OwnContext {
  SpaceContext<test::Device> own{};
};
/// The context of a model of short numbers.
struct ShortContext : private OwnContext, public StoringContext<SpaceContext<test::Device>, BFloat16> {
  ShortContext() : StoringContext(own) {}
};

/// A template, so that where there is no library it is not asked.
template <class Space>
void check_plans() {
  if constexpr (detail::DeviceConvolution<Space>::available) {
    Space const space = test::device(1);
    detail::DeviceConvolution<Space> const convolutions(space);
    test::OnDevice<float> const images(std::vector<float>(4 * 64 * 3)), outputs(std::vector<float>(4 * 64 * 8));
    WindowAxis const axis = window_axis(8, 3, 1, 1, true);
    for (auto const pass : {detail::ConvolutionPass::forward, detail::ConvolutionPass::input_gradient,
                            detail::ConvolutionPass::kernel_gradient}) {
      detail::VendorConvolution const convolution{pass, {axis, axis, 3}, 8, 4};
      BOOST_TEST((convolutions.template plan<float>(space, convolution, images.data(), outputs.data()) != nullptr));
    }
  }
}

}  // namespace

// On a GPU the reference's floats are no short numbers, and the library would round them.
BOOST_AUTO_TEST_CASE(layers_have_the_outputs_and_gradients_of_keras) {
  if constexpr (test::counts_vendor_convolutions) {
    std::size_t const before = test::vendor_convolutions;
    test::check_window_layers<test::LayerCase<ShortContext>>();
    BOOST_TEST(test::vendor_convolutions >= before + 3 * 12);  // of twelve windows
  }
}

BOOST_AUTO_TEST_CASE(a_device_trains_as_a_host) { check_device<Short>(false, true, 1e-10); }

BOOST_AUTO_TEST_CASE(a_recorded_step_trains_as_a_host) { check_device<Short>(true, true, 1e-10); }

BOOST_AUTO_TEST_CASE(what_the_library_lacks_is_computed_by_products) {
  test::vendor_lacks = test::VendorLacks::kernel_gradients;
  check_device<Short>(false, true, 1e-10);
  test::vendor_lacks = test::VendorLacks::nothing;
}

BOOST_AUTO_TEST_CASE(other_numbers_are_multiplied_by_patches) { check_device<double>(false, false, 1e-12); }

// On a GPU, that those of short numbers are the library's.
BOOST_AUTO_TEST_CASE(the_library_has_a_plan_for_each_pass) { check_plans<test::Device>(); }
