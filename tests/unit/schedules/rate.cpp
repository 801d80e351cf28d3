#define BOOST_TEST_MODULE rate
#include <boost/test/unit_test.hpp>

#include <cstddef>
#include <cstdint>

#include "trireme/core/error.hpp"
#include "trireme/schedules/cosine_decay.hpp"
#include "trireme/schedules/cosine_decay_restarts.hpp"
#include "trireme/schedules/exponential_decay.hpp"
#include "trireme/schedules/piecewise_constant_decay.hpp"
#include "trireme/schedules/rate.hpp"

namespace tr = trireme;
using boost::test_tools::tolerance;

BOOST_AUTO_TEST_CASE(a_number_is_a_rate_that_does_not_change) {
  tr::Rate const rate = 0.25f;
  BOOST_TEST(!rate.is_schedule());
  BOOST_TEST(rate(0) == 0.25);
  BOOST_TEST(rate(1000) == 0.25);
  tr::Rate const integer = 1;
  BOOST_TEST(integer(7) == 1.0);
}

BOOST_AUTO_TEST_CASE(any_function_of_the_iteration_is_a_schedule) {
  tr::Rate const rate = [](std::uint64_t iteration) { return 1.0 / static_cast<double>(1 + iteration); };
  BOOST_TEST(rate.is_schedule());
  BOOST_TEST(rate(3) == 0.25);
  tr::Rate const copy = rate;
  BOOST_TEST(copy.is_schedule());
  BOOST_TEST(copy(1) == 0.5);
}

BOOST_AUTO_TEST_CASE(exponential_decay_multiplies_by_its_rate_in_each_period) {
  tr::ExponentialDecay const smooth{.initial_learning_rate = 1, .decay_steps = 10, .decay_rate = 0.25};
  BOOST_TEST(smooth(5) == 0.5, tolerance(1e-15));
  BOOST_TEST(smooth(20) == 0.0625, tolerance(1e-15));
  tr::ExponentialDecay const stairs{
      .initial_learning_rate = 1, .decay_steps = 10, .decay_rate = 0.25, .staircase = true};
  BOOST_TEST(stairs(9) == 1.0);
  BOOST_TEST(stairs(10) == 0.25);
}

BOOST_AUTO_TEST_CASE(cosine_decay_warms_up_and_ends_at_alpha) {
  tr::CosineDecay const decay{
      .initial_learning_rate = 0, .decay_steps = 10, .alpha = 0.1, .warmup_target = 1.0, .warmup_steps = 4};
  BOOST_TEST(decay(0) == 0.0);
  BOOST_TEST(decay(2) == 0.5);
  BOOST_TEST(decay(4) == 1.0);
  BOOST_TEST(decay(9) == 0.55, tolerance(1e-12));
  BOOST_TEST(decay(14) == 0.1, tolerance(1e-12));
  BOOST_TEST(decay(1000) == 0.1, tolerance(1e-12));
}

BOOST_AUTO_TEST_CASE(cosine_decay_restarts_in_the_first_step_of_each_period) {
  for (double const factor : {1.0, 1.5, 2.0, 3.0, 9.0, 10.0}) {
    tr::CosineDecayRestarts const decay{
        .initial_learning_rate = 1, .first_decay_steps = 64, .t_mul = factor, .m_mul = 0.5};
    double begin = 0, length = 64, height = 1;
    for (std::size_t period = 0; period < 6; ++period) {
      BOOST_TEST_CONTEXT("period " << period << " with t_mul " << factor)
      BOOST_TEST(decay(static_cast<std::uint64_t>(begin)) == height, tolerance(1e-9));
      begin += length, length *= factor, height /= 2;
    }
  }
}

BOOST_AUTO_TEST_CASE(piecewise_constants_include_their_boundary_and_have_to_fit_it) {
  tr::PiecewiseConstantDecay const decay({3, 7}, {0.5, 0.25, 0.125});
  BOOST_TEST(decay(3) == 0.5);
  BOOST_TEST(decay(4) == 0.25);
  BOOST_TEST(decay(8) == 0.125);
  BOOST_CHECK_THROW(tr::PiecewiseConstantDecay({3, 7}, {0.5, 0.25}), tr::ValueError);
  BOOST_CHECK_THROW(tr::PiecewiseConstantDecay({7, 3}, {0.5, 0.25, 0.125}), tr::ValueError);
}
