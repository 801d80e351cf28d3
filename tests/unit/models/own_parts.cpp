// Parts of the user's own, as examples/own_parts has them.
#define BOOST_TEST_MODULE own_parts
#include "../../../examples/own_parts/parts.hpp"

#include <array>
#include <cmath>
#include <cstddef>
#include <vector>

#include "../layers/gradient_check.hpp"
#include "support/kokkos_fixture.hpp"

using namespace trireme;

BOOST_AUTO_TEST_CASE(own_layers_and_activations_have_the_gradients_of_their_forward) {
  test::check_gradients(own::Shift{}, Extents<2, 5>{});
  test::check_gradients(Dense<4, Elementwise<own::Mish>>{}, Extents<5>{});
  test::check_gradients(Sequential{Dense<4>{}, Elementwise{[](auto x) { return x / (1 + abs(x)); }}, own::Shift{}},
                        Extents<5>{});
}

BOOST_AUTO_TEST_CASE(an_own_loss_trains_and_an_own_metric_counts) {
  std::array<double, 3> const prediction{1.0, 2.0, -1.0}, truth{1.5, 1.0, -1.0};
  std::array<double, 3> gradient{};
  double const value = own::Pinball{.quantile = 0.75}(prediction.data(), truth.data(), 3, 6.0, gradient.data());
  BOOST_TEST(value == (0.75 * 0.5 + 0.25 * 1.0) / 3, boost::test_tools::tolerance(1e-15));
  BOOST_TEST(gradient[0] == -6 * 0.75 / 3, boost::test_tools::tolerance(1e-15));
  BOOST_TEST(gradient[1] == 6 * 0.25 / 3, boost::test_tools::tolerance(1e-15));
  std::array<double, 2> state{};
  own::Coverage{}.update(prediction.data(), truth.data(), 3, 1.0, state.data());
  BOOST_TEST(own::Coverage{}.result(state.data()) == 2.0 / 3, boost::test_tools::tolerance(1e-15));
}

BOOST_AUTO_TEST_CASE(own_optimizers_step_and_own_callbacks_stop) {
  OneDeviceStrategy<> const strategy;
  std::vector<double> const x{0.5, -1, 2, 0.25}, y{1, 2, 3, 5};
  auto const data = data::from_tensor_slices(x, y).batch(GlobalBatch{4});
  auto model = compile<double>(strategy, Sequential{Input<1>{}, Dense<1>{}, own::Shift{}},
                               own::SignDescent{.learning_rate = 0.125}, own::Pinball{}, own::Coverage{});
  auto const before = model.engine().weights().host_parameters();
  auto const history = fit(strategy, model, data, {.epochs = 5, .verbose = false}, own::GoodEnough{.loss = 1e9});
  BOOST_TEST(history["loss"].size() == 1u);
  auto const after = model.engine().weights().host_parameters();
  double const kernel = model.weights("dense/kernel")(0, 0);
  for (WeightInfo const& weight : model.description().parameters) {
    double const moved = after[weight.offset] - before[weight.offset];
    BOOST_TEST(std::abs(moved) == 0.125, weight.path);
    // All targets lie above the line, so bias and shift go up.
    if (weight.size == 1 && weight.path != "dense/kernel") BOOST_TEST(moved == 0.125, weight.path);
  }
  BOOST_TEST(std::isfinite(kernel));
}
