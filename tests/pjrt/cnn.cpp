// Convolutional models under PjrtStrategy against OneDeviceStrategy, with every option of their layers.
#define BOOST_TEST_MODULE pjrt_cnn
#include "support/kokkos_fixture.hpp"

#include "pjrt/training.hpp"
#include "trireme/activations/sigmoid.hpp"
#include "trireme/activations/softmax.hpp"
#include "trireme/losses/mean_squared_error.hpp"
#include "trireme/losses/sparse_categorical_crossentropy.hpp"
#include "trireme/metrics/accuracy.hpp"
#include "trireme/optimizers/adam.hpp"
#include "trireme/optimizers/sgd.hpp"
#include "trireme/strategies/data_parallel/one_device.hpp"

using namespace trireme;

namespace {

using Images = Input<test::cnn_inputs[0], test::cnn_inputs[1], test::cnn_inputs[2]>;
auto const logits = SparseCategoricalCrossentropy{.from_logits = true};

template <class Make>
void check(Make const& make, std::size_t replicas) {
  auto const samples = test::cnn_samples<float>(71), others = test::cnn_samples<float>(23, 2);
  auto const train = samples.data().shuffle(71, 3).batch(GlobalBatch{16});
  auto const tests = others.data().batch(GlobalBatch{9});
  auto const reference = test::run(OneDeviceStrategy<>(), make, train, tests, 10);
  BOOST_TEST(reference.first.engine().iteration() == 50u);
  test::check_same_run(test::run(test::pjrt_strategy(replicas), make, train, tests, 10), reference);
}

}  // namespace

BOOST_AUTO_TEST_CASE(fifty_steps_of_the_small_network_are_those_of_one_device) {
  auto const make = [](auto const& strategy) {
    return compile(strategy, test::cnn(), Adam{.learning_rate = 3e-3}, logits, Accuracy{}, CompileOptions{.seed = 2});
  };
  for (std::size_t replicas = 1; replicas <= 3; ++replicas) check(make, replicas);
}

BOOST_AUTO_TEST_CASE(strides_dilation_and_padding_on_both_sides) {
  check(
      [](auto const& strategy) {
        return compile(strategy,
                       Sequential{Images{}, Conv2D<3, 2, 3, Tanh, Same, Strides<2, 1>>{},
                                  Conv2D<4, 3, 2, Sigmoid, Same, Dilation<1, 2>, NoBias>{},
                                  Conv2D<3, 2, 2, Strides<2, 2>>{}, Flatten{}, Dense<test::classes>{}},
                       SGD{.learning_rate = 0.05, .momentum = 0.5}, logits, Accuracy{});
      },
      2);
}

BOOST_AUTO_TEST_CASE(windows_that_overlap_or_reach_over_the_border) {
  check(
      [](auto const& strategy) {
        return compile(strategy,
                       Sequential{Images{}, Conv2D<3, 3, 3, Same>{.kernel_regularizer = L1L2(1e-4, 1e-3)},
                                  MaxPooling2D<3, 2, Strides<1, 1>>{}, MaxPooling2D<2, 3, Same>{},
                                  Dropout{.rate = 0.3f}, Flatten{}, Dense<test::classes, Softmax>{}},
                       Adam{.learning_rate = 1e-2, .amsgrad = true, .clipnorm = 0.5}, SparseCategoricalCrossentropy{},
                       Accuracy{});
      },
      2);
}

BOOST_AUTO_TEST_CASE(squared_errors_of_several_outputs_at_several_positions) {
  auto const samples = test::make_samples<float>(45, {3, 4}, 2);
  xt::xarray<float> const targets = test::make_samples<float>(45, {3, 2}, 2, 7).x;
  auto const data = data::from_tensor_slices(samples.x, targets).batch(GlobalBatch{8});
  auto const make = [](auto const& strategy) {
    return compile(strategy, Sequential{Input<3, 4>{}, Dense<5, Tanh>{}, Dense<2>{}},
                   SGD{.learning_rate = 0.1, .momentum = 0.8, .nesterov = true, .clipvalue = 0.05}, MeanSquaredError{},
                   Accuracy{});
  };
  auto const reference = test::run(OneDeviceStrategy<>(), make, data, data, 9);
  test::check_same_run(test::run(test::pjrt_strategy(3), make, data, data, 9), reference);
}
