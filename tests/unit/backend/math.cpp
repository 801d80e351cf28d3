#define BOOST_TEST_MODULE backend_math
#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

#include <trireme/backend/math.hpp>

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
