#define BOOST_TEST_MODULE dual
#include <boost/test/unit_test.hpp>

#include <array>
#include <cmath>
#include <cstddef>

#include "trireme/activations/elementwise.hpp"
#include "trireme/activations/gelu.hpp"
#include "trireme/activations/silu.hpp"
#include "trireme/activations/softplus.hpp"
#include "trireme/activations/tanh.hpp"
#include "trireme/backend/simd/dual.hpp"
#include "trireme/losses/elementwise_loss.hpp"
#include "trireme/losses/huber.hpp"
#include "trireme/losses/log_cosh.hpp"
#include "trireme/losses/mean_squared_error.hpp"

namespace tr = trireme;

namespace {

/// Value and derivative of f against those of a function of double that knows nothing of dual numbers.
template <class F, class Reference>
void check(char const* what, F const& f, Reference const& reference, std::initializer_list<double> points) {
  for (double const x : points) {
    double const h = 1e-4;
    // Fourth order, so that the quotient itself is good to more than 1e-9.
    double const expected =
        (8 * (reference(x + h) - reference(x - h)) - (reference(x + 2 * h) - reference(x - 2 * h))) / (12 * h);
    tr::Dual<double> const y = f(tr::Dual<double>::variable(x));
    BOOST_TEST(std::abs(y.value - reference(x)) <= 4e-16 * std::abs(reference(x)), what << " at " << x);
    BOOST_TEST(std::abs(y.derivative - expected) <= 1e-9 * std::abs(expected) + 1e-11,
               what << " at " << x << ": " << y.derivative << " for " << expected);
    BOOST_TEST(tr::Value<double>(f(tr::Value<double>(x))).value == y.value, what << " at " << x);
  }
}

#define CHECK_FUNCTION(expression, ...)               \
  check(                                              \
      #expression, [](auto x) { return expression; }, \
      [](double x) {                                  \
        using namespace std;                          \
        return expression;                            \
      },                                              \
      {__VA_ARGS__})

/// The derivative that a written-out activation states, in units in the last place of a float.
template <class F, class Activation>
void check_activation(F const& f, Activation const& written_out, double tolerance) {
  tr::Elementwise const own{f};
  for (float x = -9.0f; x < 9.0f; x += 0.0371f) {
    double const y = static_cast<double>(written_out(static_cast<double>(x)));
    double const dy = written_out.derivative(Activation::derivative_from_output ? y : static_cast<double>(x));
    BOOST_TEST(std::abs(static_cast<double>(own(x)) - y) <= tolerance * std::abs(y) + 1e-30, "at " << x);
    BOOST_TEST(std::abs(static_cast<double>(own.derivative(x)) - dy) <= tolerance * std::max(1.0, std::abs(dy)),
               "at " << x);
  }
}

template <class F, class Loss>
void check_loss(F const& f, Loss const& written_out) {
  std::array<double, 4> const prediction{0.8, -1.3, 0.2, 2.1}, truth{0.5, -1.0, 1.4, 0.3};
  std::array<double, 4> own{}, expected{};
  tr::ElementwiseLoss const loss{f};
  double const value = loss(prediction.data(), truth.data(), 4, 0.375, own.data());
  BOOST_TEST(value == written_out(prediction.data(), truth.data(), 4, 0.375, expected.data()),
             boost::test_tools::tolerance(1e-15));
  BOOST_TEST(loss(prediction.data(), truth.data(), 4, 0.375, static_cast<double*>(nullptr)) == value,
             boost::test_tools::tolerance(1e-15));
  for (std::size_t i = 0; i < 4; ++i) BOOST_TEST(own[i] == expected[i], boost::test_tools::tolerance(1e-14));
}

}  // namespace

BOOST_AUTO_TEST_CASE(operators_agree_with_central_differences) {
  CHECK_FUNCTION(x + x * 2.5, -1.5, 0.3);
  CHECK_FUNCTION(1 - x * x, -1.5, 0.3);
  CHECK_FUNCTION(x / (x * x + 1.0), -1.5, 0.0, 0.3);
  CHECK_FUNCTION(3.0 / x - x / 2, -1.5, 0.3);
  CHECK_FUNCTION(-x + +x * x, -1.5, 0.3);
  CHECK_FUNCTION(x > 0.5 ? x * x : x * 0.5, -1.5, 0.3, 0.7);
  CHECK_FUNCTION((x <= 0.5 && !(x >= 2.0) && x < 7 && !(x == 3.0)) ? x * x : x * 0.5, -1.5, 0.3, 0.7);
}

BOOST_AUTO_TEST_CASE(functions_agree_with_central_differences) {
  CHECK_FUNCTION(exp(x * 0.5), -3.0, 0.1, 2.0);
  CHECK_FUNCTION(expm1(x * 0.5), -3.0, 0.1, 2.0);
  CHECK_FUNCTION(log(x * x + 0.1), -3.0, 0.1, 2.0);
  CHECK_FUNCTION(log1p(x * x), -3.0, 0.1, 2.0);
  CHECK_FUNCTION(sqrt(x * x + 0.2), -3.0, 0.1, 2.0);
  CHECK_FUNCTION(sin(x * 2) * cos(x * x), -3.0, 0.1, 2.0);
  CHECK_FUNCTION(atan(x * 3), -3.0, 0.1, 2.0);
  CHECK_FUNCTION(tanh(x * x - 1), -1.5, 0.1, 1.2);
  CHECK_FUNCTION(erf(x * 0.7), -1.5, 0.1, 1.2);
  CHECK_FUNCTION(pow(x * x + 1, 1.7), -1.5, 0.1, 1.2);
  CHECK_FUNCTION(abs(x) * x, -1.5, 0.1, 1.2);
  CHECK_FUNCTION(pow(x, 0) * x, -1.5, 0.0, 1.2);
}

BOOST_AUTO_TEST_CASE(assignments_maxima_and_constants_carry_derivatives) {
  auto const f = [](auto x) {
    auto y = x;
    y *= x;
    y += 2;
    y -= x;
    y /= max(x, 1);
    return min(y, x * 10) + (x > 100 ? 5 : x);
  };
  auto const reference = [](double x) { return std::min((x * x + 2 - x) / std::max(x, 1.0), x * 10) + x; };
  check("assignments", f, reference, {0.1, 0.7, 1.5, 3.0});
  BOOST_TEST(f(tr::Dual<double>::variable(101.0)).derivative == 1 - 2 / (101.0 * 101.0),
             boost::test_tools::tolerance(1e-12));
}

BOOST_AUTO_TEST_CASE(own_activations_are_those_written_out) {
  check_activation([](auto x) { return tanh(x); }, tr::Tanh{}, 1e-6);
  check_activation([](auto x) { return x / (1 + exp(-x)); }, tr::SiLU{}, 2e-6);
  check_activation([](auto x) { return x > 0 ? x + log1p(exp(-x)) : log1p(exp(x)); }, tr::Softplus{}, 2e-6);
  check_activation([](auto x) { return x / (1 + exp(-2 * 0.79788456080286535588 * (x + 0.044715 * x * x * x))); },
                   tr::GELU{.approximate = true}, 2e-5);
}

BOOST_AUTO_TEST_CASE(own_losses_are_those_written_out) {
  check_loss([](auto prediction, auto truth) { return (prediction - truth) * (prediction - truth); },
             tr::MeanSquaredError{});
  check_loss(
      [](auto prediction, auto truth) {
        auto const error = abs(prediction - truth);
        return error < 1 ? 0.5 * error * error : error - 0.5;
      },
      tr::Huber{});
  check_loss([](auto p, auto t) { return log(0.5 * (exp(p - t) + exp(t - p))); }, tr::LogCosh{});
}
