// Limits of gradients that are no numbers: as in Keras, they show in the weights.
#define BOOST_TEST_MODULE clipping
#include "support/kokkos_fixture.hpp"

#include <cmath>
#include <limits>
#include <vector>

#include "trireme/compile.hpp"
#include "trireme/data/from_tensor_slices.hpp"
#include "trireme/fit.hpp"
#include "trireme/layers/dense.hpp"
#include "trireme/losses/mean_squared_error.hpp"
#include "trireme/models/sequential.hpp"
#include "trireme/optimizers/sgd.hpp"
#include "trireme/strategies/data_parallel/one_device.hpp"
#include "trireme/tensor/xtensor.hpp"

using namespace trireme;

namespace {

constexpr double no_number = std::numeric_limits<double>::quiet_NaN(),
                 infinity = std::numeric_limits<double>::infinity();

/// Biases (2), 0 before, after a step in which the targets of a sample were these.
std::vector<double> biases(SGD const& optimizer, double first, double second) {
  OneDeviceStrategy<> const strategy;
  auto model = compile<double>(strategy, Sequential{Input<1>{}, Dense<2>{.kernel_initializer = Zeros{}}}, optimizer,
                               MeanSquaredError{});
  xt::xtensor<double, 2> const x = xt::ones<double>({1, 1}), y{{first, second}};
  fit(strategy, model, data::from_tensor_slices(x, y).batch(GlobalBatch{1}), {.verbose = false});
  auto const values = model.weights("dense/bias");
  return {values.begin(), values.end()};
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_norm_that_is_nan_makes_all_weights_nan) {
  auto const tensor = biases(SGD{.learning_rate = 1, .clipnorm = 0.5}, no_number, 3);
  BOOST_TEST((std::isnan(tensor[0]) && std::isnan(tensor[1])));
  auto const all = biases(SGD{.learning_rate = 1, .global_clipnorm = 0.5}, no_number, 3);
  BOOST_TEST((std::isnan(all[0]) && std::isnan(all[1])));
}

BOOST_AUTO_TEST_CASE(of_an_infinite_norm_a_tensor_keeps_what_is_finite_and_all_tensors_keep_nothing) {
  auto const tensor = biases(SGD{.learning_rate = 1, .clipnorm = 0.5}, infinity, 3);
  BOOST_TEST((std::isnan(tensor[0]) && tensor[1] == 0));
  auto const all = biases(SGD{.learning_rate = 1, .global_clipnorm = 0.5}, infinity, 3);
  BOOST_TEST((std::isnan(all[0]) && std::isnan(all[1])));
}

BOOST_AUTO_TEST_CASE(values_are_limited_each_for_itself) {
  auto const value = biases(SGD{.learning_rate = 1, .clipvalue = 0.5}, no_number, 3);  // gradients: target * -2 / 2
  BOOST_TEST((std::isnan(value[0]) && value[1] == 0.5));
  BOOST_TEST(biases(SGD{.learning_rate = 1, .clipvalue = 0.5}, infinity, 0.25) == (std::vector<double>{0.5, 0.25}),
             boost::test_tools::per_element());
}
