#define BOOST_TEST_MODULE optimizer_steps
#include <boost/test/unit_test.hpp>

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "trireme/optimizers/adadelta.hpp"
#include "trireme/optimizers/adagrad.hpp"
#include "trireme/optimizers/adam.hpp"
#include "trireme/optimizers/adamax.hpp"
#include "trireme/optimizers/adamw.hpp"
#include "trireme/optimizers/ftrl.hpp"
#include "trireme/optimizers/lamb.hpp"
#include "trireme/optimizers/lars.hpp"
#include "trireme/optimizers/lion.hpp"
#include "trireme/optimizers/nadam.hpp"
#include "trireme/optimizers/rmsprop.hpp"
#include "trireme/optimizers/sgd.hpp"
#include "trireme/schedules/piecewise_constant_decay.hpp"

namespace tr = trireme;
using boost::test_tools::tolerance;

namespace {

/// The weight after each of these gradients.
template <class Optimizer>
std::vector<double> weights(Optimizer const& o, double weight, std::vector<double> const& gradients) {
  std::array<double, 3> slots{};
  std::array<double*, 3> pointers{};
  for (std::size_t s = 0; s < o.slots(); ++s) slots[s] = o.initial(s);
  for (std::size_t s = 0; s < 3; ++s) pointers[s] = &slots[s];
  std::vector<double> after;
  for (std::size_t step = 0; step < gradients.size(); ++step) {
    o.template step<double>(step + 1, o.learning_rate(step))(0, &weight, gradients[step], pointers.data());
    after.push_back(weight);
  }
  return after;
}

/// Distance from the minimum of (w - 3)^2 / 2 after many steps.
template <class Optimizer>
double distance(Optimizer const& o) {
  std::array<double, 3> slots{};
  std::array<double*, 3> pointers{&slots[0], &slots[1], &slots[2]};
  for (std::size_t s = 0; s < o.slots(); ++s) slots[s] = o.initial(s);
  double w = 0;
  for (std::uint64_t step = 0; step < 3000; ++step)
    o.template step<double>(step + 1, o.learning_rate(step))(0, &w, w - 3, pointers.data());
  return std::abs(w - 3);
}

}  // namespace

BOOST_AUTO_TEST_CASE(sgd_keeps_the_rate_inside_the_momentum) {
  auto const w = weights(tr::SGD{.learning_rate = 0.1, .momentum = 0.5}, 1.0, {1, 2});
  BOOST_TEST(w[0] == 0.9, tolerance(1e-15));
  BOOST_TEST(w[1] == 0.9 - 0.05 - 0.2, tolerance(1e-15));
  auto const n = weights(tr::SGD{.learning_rate = 0.1, .momentum = 0.5, .nesterov = true}, 1.0, {1});
  BOOST_TEST(n[0] == 1 - 0.05 - 0.1, tolerance(1e-15));
}

BOOST_AUTO_TEST_CASE(the_first_step_of_adam_has_the_size_of_the_rate) {
  auto const w = weights(tr::Adam{.learning_rate = 0.01, .epsilon = 0}, 1.0, {123.0});
  BOOST_TEST(w[0] == 0.99, tolerance(1e-14));
}

BOOST_AUTO_TEST_CASE(amsgrad_never_forgets_the_largest_mean_square) {
  tr::Adam const plain{.beta_2 = 0.5}, kept{.beta_2 = 0.5, .amsgrad = true};
  auto const p = weights(plain, 1.0, {100, 1, 1, 1}), k = weights(kept, 1.0, {100, 1, 1, 1});
  BOOST_TEST(p[0] == k[0]);
  BOOST_TEST(std::abs(p[3] - p[2]) > 1.5 * std::abs(k[3] - k[2]));
}

BOOST_AUTO_TEST_CASE(weights_decay_before_the_step_and_in_proportion_to_the_rate) {
  BOOST_TEST(weights(tr::SGD{.learning_rate = 0.1, .weight_decay = 0.5}, 2.0, {0})[0] == 1.9, tolerance(1e-15));
  BOOST_TEST(weights(tr::AdamW{.learning_rate = 0.1, .weight_decay = 0.5}, 2.0, {0})[0] == 1.9, tolerance(1e-15));
}

BOOST_AUTO_TEST_CASE(slots_are_as_many_as_the_options_need) {
  BOOST_TEST(tr::SGD{}.slots() == 0u);
  BOOST_TEST(tr::SGD{.momentum = 0.9}.slots() == 1u);
  BOOST_TEST(tr::Adam{}.slots() == 2u);
  BOOST_TEST(tr::Adam{.amsgrad = true}.slots() == 3u);
  BOOST_TEST(tr::Adam{.amsgrad = true}.slot_name(2) == "velocity_hat");
  BOOST_TEST(tr::RMSprop{}.slots() == 1u);
  tr::RMSprop const both{.momentum = 0.5, .centered = true}, centered{.centered = true};
  BOOST_TEST(both.slots() == 3u);
  BOOST_TEST(both.slot_name(1) == "momentum");
  BOOST_TEST(both.slot_name(2) == "average_gradient");
  BOOST_TEST(centered.slot_name(1) == "average_gradient");
  BOOST_TEST(tr::Adagrad{}.initial(0) == 0.1);
}

BOOST_AUTO_TEST_CASE(every_optimizer_finds_the_minimum_of_a_parabola) {
  BOOST_TEST(distance(tr::SGD{.learning_rate = 0.1}) < 1e-12);
  BOOST_TEST(distance(tr::SGD{.learning_rate = 0.1, .momentum = 0.9, .nesterov = true}) < 1e-12);
  BOOST_TEST(distance(tr::Adam{.learning_rate = 0.05}) < 1e-12);
  BOOST_TEST(distance(tr::AdamW{.learning_rate = 0.05, .weight_decay = 1e-5}) < 1e-5);  // decay moves the minimum
  BOOST_TEST(distance(tr::RMSprop{.learning_rate = 0.01}) < 1e-12);
  BOOST_TEST(distance(tr::Adagrad{.learning_rate = 1}) < 1e-12);
  BOOST_TEST(distance(tr::Adadelta{.learning_rate = 10}) < 1e-12);
  BOOST_TEST(distance(tr::Adamax{.learning_rate = 0.05}) < 1e-12);
  BOOST_TEST(distance(tr::Nadam{.learning_rate = 0.05}) < 1e-12);
  BOOST_TEST(distance(tr::Lion{.learning_rate = 0.01}) < 1e-12);
  BOOST_TEST(distance(tr::Ftrl{.learning_rate = 1}) < 1e-12);
}

BOOST_AUTO_TEST_CASE(nadams_product_of_momenta_is_that_of_its_factors_and_ends_at_0) {
  for (double const beta : {0.9, 0.999}) {
    tr::Nadam const nadam{.beta_1 = beta};
    long double product = 1;
    for (std::uint64_t t = 1; t <= 3000; ++t) {
      product *= beta * (1 - 0.5L * std::pow(0.96L, static_cast<long double>(t)));
      if (t % 250 == 0 || t < 5)
        BOOST_TEST(nadam.stored_number(t) == static_cast<double>(product), boost::test_tools::tolerance(1e-12));
    }
    BOOST_TEST(nadam.stored_number(0) == 1);
    BOOST_TEST(nadam.stored_number(10'000'000) == 0);
  }
}

BOOST_AUTO_TEST_CASE(ftrl_leaves_weights_alone_at_a_rate_of_0_and_has_numbers_before_the_first_gradient) {
  tr::PiecewiseConstantDecay const rate({1, 2}, {0.5, 0, 0.5});
  auto const with_pause = weights(tr::Ftrl{.learning_rate = rate}, 1.0, {0.25, 0.5, 7, -0.125});
  BOOST_TEST(with_pause[2] == with_pause[1]);
  auto const without = weights(tr::Ftrl{.learning_rate = 0.5}, 1.0, {0.25, 0.5, -0.125});
  BOOST_TEST(with_pause[3] == without[2]);
  // A leader of nothing is 0, as it is for a gradient of 0 with any other accumulator.
  BOOST_TEST(weights(tr::Ftrl{.learning_rate = 0.5, .initial_accumulator_value = 0}, 1.0, {0, 0})[1] == 0);
  BOOST_TEST(weights(tr::Ftrl{.learning_rate = 0.5}, 1.0, {0, 0})[1] == 0);
}

/// Weights of norm 5 and gradients of norm 13.
BOOST_AUTO_TEST_CASE(lars_scales_a_tensors_rate_by_its_norms) {
  auto const after = [](tr::Lars const& o, std::array<double, 2> w, std::array<double, 2> const& gradient, int steps) {
    std::array<double, 2> velocity{};
    std::array<double*, 1> const slots{velocity.data()};
    for (int step = 0; step < steps; ++step) {
      auto const rule = o.step<double>(static_cast<std::uint64_t>(step) + 1, o.learning_rate(0));
      std::array<double, 2> sums{};
      for (std::size_t i = 0; i < 2; ++i) rule.add(i, w.data(), gradient[i], slots.data(), sums.data());
      for (std::size_t i = 0; i < 2; ++i) rule.of_tensor(sums.data())(i, w.data(), gradient[i], slots.data());
    }
    return w;
  };
  tr::Lars const plain{.learning_rate = 2, .momentum = 0, .trust_coefficient = 0.1};
  BOOST_TEST(after(plain, {3, 4}, {5, 12}, 1)[0] == 3 - 2 * 0.1 * 5 / 13 * 5, tolerance(1e-15));
  tr::Lars const decaying{.learning_rate = 2, .momentum = 0, .trust_coefficient = 0.1, .weight_decay = 0.2};
  BOOST_TEST(after(decaying, {3, 4}, {5, 12}, 1)[1] == 4 - 2 * 0.1 * 5 / (13 + 0.2 * 5) * (12 + 0.2 * 4),
             tolerance(1e-15));
  // A norm of 0 leaves the rate alone: weights that are 0 begin, and those without a gradient decay.
  BOOST_TEST(after(plain, {0, 0}, {5, 12}, 1)[0] == -10, tolerance(1e-15));
  BOOST_TEST(after(decaying, {3, 4}, {0, 0}, 1)[0] == 3 - 2 * 0.2 * 3, tolerance(1e-15));
  // The ratio is that of the step's own weights: the second step begins from those of the first.
  auto const first = after(plain, {3, 4}, {5, 12}, 1);
  double const rate = 2 * 0.1 * std::hypot(first[0], first[1]) / 13;
  BOOST_TEST(after(plain, {3, 4}, {5, 12}, 2)[0] == first[0] - rate * 5, tolerance(1e-15));
  // The rate is inside the momentum.
  tr::Lars const rolling{.learning_rate = 2, .momentum = 0.5, .trust_coefficient = 0.1};
  double const velocity = first[0] - 3;
  BOOST_TEST(after(rolling, {3, 4}, {5, 12}, 2)[0] == first[0] + 0.5 * velocity - rate * 5, tolerance(1e-15));
}
