#define BOOST_TEST_MODULE backend_math
#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

#include <trireme/activations/gelu.hpp>
#include <trireme/activations/sigmoid.hpp>
#include <trireme/backend/simd/math.hpp>

#include "support/kokkos_fixture.hpp"

using namespace trireme;

namespace {

/// Distance in units of the last place of the right value.
double ulps(float result, double right) {
  float const rounded = static_cast<float>(right);
  if (std::isinf(rounded)) return result == rounded ? 0 : std::numeric_limits<double>::infinity();
  float const magnitude = std::abs(rounded);
  double const unit = static_cast<double>(std::nextafter(magnitude, std::numeric_limits<float>::infinity())) -
                      static_cast<double>(magnitude);
  return std::abs(static_cast<double>(result) - right) / unit;
}

/// The largest error over a sample of all floats: every 9973rd bit pattern.
template <class F, class G>
double worst(F const& f, G const& right) {
  double largest = 0;
  for (std::uint64_t b = 0; b < (std::uint64_t{1} << 32); b += 9973) {
    float const x = std::bit_cast<float>(static_cast<std::uint32_t>(b));
    if (!std::isnan(x)) largest = std::max(largest, ulps(f(x), right(static_cast<double>(x))));
  }
  return largest;
}

}  // namespace

BOOST_AUTO_TEST_CASE(exp_is_within_2_ulp_over_all_floats) {
  BOOST_TEST(worst([](float x) { return math::exp(x); }, [](double x) { return std::exp(x); }) <= 2.0);
}

BOOST_AUTO_TEST_CASE(tanh_is_within_7_ulp_over_all_floats) {
  BOOST_TEST(worst([](float x) { return math::tanh(x); }, [](double x) { return std::tanh(x); }) <= 7.0);
}

BOOST_AUTO_TEST_CASE(decline_and_softplus_are_within_3_and_4_ulp_over_all_negative_floats) {
  auto const negative = [](auto x) { return x > 0 ? -x : x; };
  BOOST_TEST(worst([&](float x) { return math::expm1_nonpositive(negative(x)); },
                   [&](double x) { return std::expm1(negative(x)); }) <= 3.0);
  BOOST_TEST(worst([&](float x) { return math::softplus_of_negative(negative(x)); },
                   [&](double x) { return std::log1p(std::exp(negative(x))); }) <= 4.0);
}

BOOST_AUTO_TEST_CASE(the_normal_probability_is_within_8_ulp_where_it_is_a_normal_number) {
  BOOST_TEST(worst([](float x) { return math::normal_probability(x < -13 ? -13 : x); },
                   [](double x) { return 0.5 * std::erfc(-(x < -13 ? -13 : x) / std::sqrt(2.0)); }) <= 8.0);
  BOOST_TEST(math::normal_probability(-20.0f) == 0.0f);
  BOOST_TEST(math::normal_probability(20.0f) == 1.0f);
  BOOST_TEST(std::isnan(math::normal_probability(std::numeric_limits<float>::quiet_NaN())));
}

BOOST_AUTO_TEST_CASE(sigmoid_and_gelu_are_within_4_and_8_ulp_over_all_floats) {
  auto const bounded = [](auto x, auto limit) { return x < -limit ? -limit : x > limit ? limit : x; };
  BOOST_TEST(worst([&](float x) { return Sigmoid{}(bounded(x, 80.0f)); },
                   [&](double x) { return 1 / (1 + std::exp(-bounded(x, 80.0))); }) <= 4.0);
  BOOST_TEST(worst([&](float x) { return GELU{}(bounded(x, 12.0f)); },
                   [&](double x) {
                     double const b = bounded(x, 12.0);
                     return 0.5 * b * std::erfc(-b / std::sqrt(2.0));
                   }) <= 8.0);
}

BOOST_AUTO_TEST_CASE(what_is_not_a_number_stays_so_and_limits_are_reached) {
  float const infinity = std::numeric_limits<float>::infinity();
  BOOST_TEST(std::isnan(math::exp(std::numeric_limits<float>::quiet_NaN())));
  BOOST_TEST(std::isnan(math::tanh(std::numeric_limits<float>::quiet_NaN())));
  BOOST_TEST(math::exp(infinity) == infinity);
  BOOST_TEST(math::exp(-infinity) == 0.0f);
  BOOST_TEST(std::signbit(math::tanh(-0.0f)));
  BOOST_TEST(math::exp(0.0f) == 1.0f);
}

BOOST_AUTO_TEST_CASE(in_double_they_are_the_standard_functions) {
  for (double x : {-30.0, -1.5, -1e-9, 0.0, 0.3, 2.0, 40.0}) {
    BOOST_TEST(math::exp(x) == std::exp(x));
    BOOST_TEST(math::tanh(x) == std::tanh(x));
  }
}
