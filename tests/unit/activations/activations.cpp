#define BOOST_TEST_MODULE activations
#include <boost/test/unit_test.hpp>

#include <array>
#include <cmath>
#include <cstddef>
#include <limits>

#include "trireme/activations/elu.hpp"
#include "trireme/activations/gelu.hpp"
#include "trireme/activations/leaky_relu.hpp"
#include "trireme/activations/linear.hpp"
#include "trireme/activations/relu.hpp"
#include "trireme/activations/sigmoid.hpp"
#include "trireme/activations/silu.hpp"
#include "trireme/activations/softmax.hpp"
#include "trireme/activations/softplus.hpp"
#include "trireme/activations/tanh.hpp"

namespace tr = trireme;

namespace {

template <class Activation>
void check_gradient(Activation const& f) {
  for (double const x : {-6.0, -2.5, -1.0, -0.3, 0.2, 0.7, 1.5, 4.0}) {
    double const h = 1e-5;
    // Fourth order, so that the quotient itself is good to more than 1e-6.
    double const expected = (8 * (f(x + h) - f(x - h)) - (f(x + 2 * h) - f(x - 2 * h))) / (12 * h);
    double const found = f.derivative(Activation::derivative_from_output ? f(x) : x);
    BOOST_TEST(std::abs(found - expected) <= 1e-6 * std::abs(expected) + 1e-10,
               Activation::name.view() << " at " << x << ": " << found << " for " << expected);
  }
}

/// In float, within a few units in the last place of what double gives.
template <class Activation>
void check_float(Activation const& f, double tolerance) {
  for (float x = -20.0f; x <= 20.0f; x += 0.37f) {
    double const expected = f(static_cast<double>(x));
    BOOST_TEST(std::abs(static_cast<double>(f(x)) - expected) <= tolerance * std::abs(expected) + 1e-37,
               Activation::name.view() << " at " << x);
  }
}

}  // namespace

BOOST_AUTO_TEST_CASE(every_derivative_agrees_with_central_differences) {
  check_gradient(tr::ReLU{});
  check_gradient(tr::LeakyReLU{});
  check_gradient(tr::Sigmoid{});
  check_gradient(tr::Tanh{});
  check_gradient(tr::GELU{});
  check_gradient(tr::GELU{.approximate = true});
  check_gradient(tr::ELU{});
  check_gradient(tr::ELU{.alpha = 0.7});
  check_gradient(tr::SiLU{});
  check_gradient(tr::Softplus{});
  check_gradient(tr::Linear{});
}

BOOST_AUTO_TEST_CASE(activations_in_float_are_accurate_in_their_tails) {
  check_float(tr::LeakyReLU{}, 2e-7);
  check_float(tr::Sigmoid{}, 1e-6);
  check_float(tr::Tanh{}, 5e-7);
  check_float(tr::ELU{}, 5e-7);
  check_float(tr::SiLU{}, 1e-6);
  check_float(tr::Softplus{}, 1e-6);
}

BOOST_AUTO_TEST_CASE(activations_have_known_values) {
  BOOST_TEST(tr::ReLU{}(-2.0) == 0.0);
  BOOST_TEST(tr::ReLU{}(3.0) == 3.0);
  BOOST_TEST(tr::LeakyReLU{}(-2.0) == -0.6, boost::test_tools::tolerance(1e-15));
  BOOST_TEST(tr::LeakyReLU{.negative_slope = 0.2}(-2.0) == -0.4, boost::test_tools::tolerance(1e-15));
  BOOST_TEST(tr::Sigmoid{}(0.0) == 0.5);
  BOOST_TEST(tr::Softplus{}(0.0) == std::log(2.0), boost::test_tools::tolerance(1e-15));
  BOOST_TEST(tr::GELU{}(1.0) == 0.8413447460685429, boost::test_tools::tolerance(1e-15));
  BOOST_TEST(tr::GELU{.approximate = true}(1.0) == 0.8411919906082768, boost::test_tools::tolerance(1e-14));
  BOOST_TEST(tr::ELU{}(-1.0) == std::exp(-1.0) - 1, boost::test_tools::tolerance(1e-15));
  BOOST_TEST(tr::SiLU{}(-1.0) == -0.2689414213699951, boost::test_tools::tolerance(1e-15));
}

BOOST_AUTO_TEST_CASE(derivatives_at_exactly_zero_are_those_of_keras) {
  BOOST_TEST(tr::ReLU{}.derivative(0.0) == 0.0);
  BOOST_TEST(tr::LeakyReLU{}.derivative(0.0) == 0.3);
  BOOST_TEST(tr::ELU{}.derivative(0.0) == 1.0);
  BOOST_TEST(tr::SiLU{}.derivative(0.0) == 0.5);
  BOOST_TEST(tr::GELU{}.derivative(0.0) == 0.5);
}

BOOST_AUTO_TEST_CASE(activations_survive_arguments_whose_exponential_overflows) {
  for (double const x : {-1000.0, 1000.0}) {
    BOOST_TEST(tr::Sigmoid{}(x) == (x > 0 ? 1.0 : 0.0));
    BOOST_TEST(tr::Tanh{}(x) == (x > 0 ? 1.0 : -1.0));
    BOOST_TEST(tr::Softplus{}(x) == (x > 0 ? x : 0.0));
    BOOST_TEST(std::abs(tr::SiLU{}(x)) == (x > 0 ? x : 0.0));
    BOOST_TEST(std::abs(tr::GELU{}(x)) == (x > 0 ? x : 0.0));
    BOOST_TEST(std::abs(tr::GELU{.approximate = true}(x)) == (x > 0 ? x : 0.0));
    BOOST_TEST(tr::SiLU{}.derivative(x) == (x > 0 ? 1.0 : 0.0));
    BOOST_TEST(tr::GELU{}.derivative(x) == (x > 0 ? 1.0 : 0.0));
    BOOST_TEST(tr::GELU{.approximate = true}.derivative(x) == (x > 0 ? 1.0 : 0.0));
  }
}

BOOST_AUTO_TEST_CASE(a_nan_is_not_hidden) {
  double const nan = std::numeric_limits<double>::quiet_NaN();
  BOOST_TEST(std::isnan(tr::ReLU{}(nan)));
  BOOST_TEST(std::isnan(tr::LeakyReLU{}(nan)));
  BOOST_TEST(std::isnan(tr::Softplus{}(nan)));
  BOOST_TEST(std::isnan(tr::ELU{}(nan)));
}

BOOST_AUTO_TEST_CASE(softmax_rows_sum_to_one_for_any_shift) {
  std::array<double, 4> const x{1.0, -2.0, 0.5, 3.0};
  std::array<double, 4> y{}, shifted{};
  std::array<double, 4> far = x;
  for (double& value : far) value += 5000;
  tr::Softmax{}.forward(tr::OneLane{}, x.data(), x.size(), y.data());
  tr::Softmax{}.forward(tr::OneLane{}, far.data(), far.size(), shifted.data());
  double sum = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    sum += y[i];
    BOOST_TEST(y[i] == shifted[i], boost::test_tools::tolerance(1e-12));
    BOOST_TEST(y[i] / y[0] == std::exp(x[i] - x[0]), boost::test_tools::tolerance(1e-14));
  }
  BOOST_TEST(sum == 1.0, boost::test_tools::tolerance(1e-15));
}

BOOST_AUTO_TEST_CASE(softmax_backward_agrees_with_central_differences_also_in_place) {
  std::array<double, 4> x{1.0, -2.0, 0.5, 1.7};
  std::array<double, 4> const dy{0.3, -1.1, 2.0, 0.6};
  std::array<double, 4> y{}, dx = dy;
  tr::Softmax{}.forward(tr::OneLane{}, x.data(), x.size(), y.data());
  tr::Softmax{}.backward(tr::OneLane{}, y.data(), dx.data(), x.size(), dx.data());
  auto value = [&](std::size_t i, double h) {
    std::array<double, 4> moved = x;
    moved[i] += h;
    tr::Softmax{}.forward(tr::OneLane{}, moved.data(), moved.size(), moved.data());
    double sum = 0;
    for (std::size_t j = 0; j < moved.size(); ++j) sum += moved[j] * dy[j];
    return sum;
  };
  for (std::size_t i = 0; i < x.size(); ++i) {
    double const expected = (value(i, 1e-5) - value(i, -1e-5)) / 2e-5;
    BOOST_TEST(std::abs(dx[i] - expected) <= 1e-6 * std::abs(expected) + 1e-10);
  }
}
