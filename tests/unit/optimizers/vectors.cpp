// labels: optimised
// A step by vectors is the rule for one number, and does not show where a range of elements begins or ends: whether two
// copies of a loop round alike shows only where the compiler does all that it can.
#define BOOST_TEST_MODULE optimizer_vectors
#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "trireme/backend/simd/math.hpp"
#include "trireme/backend/simd/simd_vector.hpp"
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
#include "trireme/optimizers/optimizer.hpp"
#include "trireme/optimizers/rmsprop.hpp"
#include "trireme/optimizers/sgd.hpp"
#include "trireme/strategies/engine/update_kernels.hpp"

namespace tr = trireme;

namespace {

/// Weights, gradients of both signs and none, and positive slots, as means of squares are.
template <class T, class Optimizer>
struct Arena {
  static auto step(Optimizer const& optimizer, std::uint64_t iteration) {
    auto const rule = optimizer.template step<T>(iteration, 0.01);
    if constexpr (tr::DeclaresTensorSums<tr::RuleOf<Optimizer, T>>) {
      std::array<double, 2> const sums{4, 1};
      return rule.of_tensor(sums.data());
    } else {
      return rule;
    }
  }
  using Kernel = tr::kernels::OptimizerStep<T, decltype(step(std::declval<Optimizer>(), 1))>;

  Arena(Optimizer const& o, std::size_t n) : optimizer(o), weights(n), gradients(n), slots(o.slots()) {
    for (std::size_t i = 0; i < n; ++i) {
      weights[i] = static_cast<T>(std::sin(static_cast<double>(i) + 1));
      gradients[i] = i % 5 == 4 ? T(0) : static_cast<T>(std::cos(3 * static_cast<double>(i)));
    }
    for (auto& slot : slots)
      for (std::size_t i = 0; i < n; ++i) slot.push_back(static_cast<T>(0.01 * static_cast<double>(1 + i % 7)));
  }

  Kernel kernel(std::uint64_t iteration) {
    Kernel k{step(optimizer, iteration), weights.data(), gradients.data(), {}};
    for (std::size_t s = 0; s < slots.size(); ++s) k.slots[s] = slots[s].data();
    return k;
  }

  Optimizer optimizer;
  std::vector<T> weights, gradients;
  std::vector<std::vector<T>> slots;
};

template <class T>
bool same_bits(std::vector<T> const& a, std::vector<T> const& b) {
  using Bits = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;
  for (std::size_t i = 0; i < a.size(); ++i)
    if (std::bit_cast<Bits>(a[i]) != std::bit_cast<Bits>(b[i])) return false;
  return a.size() == b.size();
}

/// Largest difference, where 1 is the size of what is compared; infinity if one of two is not a number.
template <class T>
double difference(std::vector<T> const& a, std::vector<T> const& b) {
  double largest = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    double const one = std::abs(static_cast<double>(a[i]) - static_cast<double>(b[i]));
    largest = std::max(largest, std::isnan(one) ? std::numeric_limits<double>::infinity() : one);
  }
  return largest;
}

template <class T, class Optimizer>
void check(Optimizer const& optimizer) {
  constexpr std::size_t lanes = tr::detail::SimdVector<T>::lanes;
  constexpr double rounding = 8 * static_cast<double>(std::numeric_limits<T>::epsilon());
  for (std::size_t n : {std::size_t{1}, lanes - 1, lanes, 3 * lanes + 1, 5 * lanes - 1}) {
    Arena<T, Optimizer> whole(optimizer, n), pieces(optimizer, n), numbers(optimizer, n);
    for (std::uint64_t iteration : {1u, 2u, 3u}) {
      whole.kernel(iteration).elements(0, n);
      for (std::size_t begin = 0, size = 1; begin < n; begin += size, size += 2)
        pieces.kernel(iteration).elements(begin, std::min(begin + size, n));
      for (std::size_t i = 0; i < n; ++i) numbers.kernel(iteration)(i);
    }
    BOOST_TEST(same_bits(whole.weights, pieces.weights), n << " elements: weights");
    BOOST_TEST(difference(whole.weights, numbers.weights) <= rounding);
    BOOST_TEST(difference(whole.weights, Arena<T, Optimizer>(optimizer, n).weights) > 1e-5);  // it did something
    for (std::size_t s = 0; s < optimizer.slots(); ++s) {
      BOOST_TEST(same_bits(whole.slots[s], pieces.slots[s]), n << " elements: slot " << s);
      BOOST_TEST(difference(whole.slots[s], numbers.slots[s]) <= rounding);
    }
  }
}

using Types = std::tuple<float, double>;

}  // namespace

BOOST_AUTO_TEST_CASE_TEMPLATE(rules_by_vectors_are_those_for_numbers, T, Types) {
  check<T>(tr::Adam{});
  check<T>(tr::Adam{.amsgrad = true, .weight_decay = 0.1});
  check<T>(tr::AdamW{});
  check<T>(tr::Nadam{});
  check<T>(tr::Adamax{});
  check<T>(tr::Adagrad{});
  check<T>(tr::Adadelta{.learning_rate = 1.0});
  check<T>(tr::RMSprop{});
  check<T>(tr::RMSprop{.momentum = 0.5, .centered = true});
  check<T>(tr::SGD{});
  check<T>(tr::SGD{.momentum = 0.9});
  check<T>(tr::SGD{.momentum = 0.9, .nesterov = true});
  check<T>(tr::Lamb{.weight_decay = 0.1});
  check<T>(tr::Lars{.learning_rate = 10.0, .trust_coefficient = 0.5, .weight_decay = 0.1});
  check<T>(tr::Lion{});
  check<T>(tr::Ftrl{});  // has a power, and goes number by number
}

BOOST_AUTO_TEST_CASE_TEMPLATE(a_gradient_that_is_not_a_number_stays_one, T, Types) {
  auto const spoils = [](auto const& optimizer) {
    Arena<T, std::decay_t<decltype(optimizer)>> arena(optimizer, 37);
    arena.gradients[5] = arena.gradients[36] = std::numeric_limits<T>::quiet_NaN();
    arena.kernel(1).elements(0, 37);
    for (std::size_t i = 0; i < 37; ++i)
      BOOST_TEST(std::isnan(arena.weights[i]) == (i == 5 || i == 36), "element " << i);
  };
  spoils(tr::Adam{});
  spoils(tr::Adam{.amsgrad = true});
  spoils(tr::Adamax{});
  spoils(tr::Lamb{});
  spoils(tr::Lars{});
  spoils(tr::Lion{});
  spoils(tr::RMSprop{});
  spoils(tr::SGD{.momentum = 0.9});
}

BOOST_AUTO_TEST_CASE_TEMPLATE(slots_that_are_not_numbers_stay_so, T, Types) {
  auto const keeps = [](auto const& optimizer) {
    Arena<T, std::decay_t<decltype(optimizer)>> arena(optimizer, 37);
    arena.gradients[5] = arena.gradients[36] = std::numeric_limits<T>::quiet_NaN();
    arena.kernel(1).elements(0, 37);
    std::ranges::fill(arena.gradients, T(1));
    arena.kernel(2).elements(0, 37);
    for (std::size_t i = 0; i < 37; ++i)
      BOOST_TEST(std::isnan(arena.slots[0][i]) == (i == 5 || i == 36), "element " << i);
  };
  keeps(tr::Adam{});
  keeps(tr::Nadam{});
  keeps(tr::Adamax{});
  keeps(tr::Lion{});
  keeps(tr::RMSprop{});
  keeps(tr::Adadelta{});
  keeps(tr::SGD{.momentum = 0.9});
}

// In float: double takes some million steps.
BOOST_AUTO_TEST_CASE(what_decays_ends_at_zero_and_not_at_a_subnormal_number) {
  auto const ends = [](auto const& optimizer) {
    constexpr std::size_t n = 37;
    Arena<float, std::decay_t<decltype(optimizer)>> arena(optimizer, n);
    arena.kernel(1).elements(0, n);
    std::ranges::fill(arena.gradients, 0.0f);
    auto const kernel = arena.kernel(2);
    for (int step = 0; step < 120'000; ++step) kernel.elements(0, n);
    for (std::size_t s = 0; s < arena.slots.size(); ++s)
      for (std::size_t i = 0; i < n; ++i) BOOST_TEST(arena.slots[s][i] == 0, "slot " << s << ", element " << i);
    auto const before = arena.weights;
    kernel.elements(0, n);
    BOOST_TEST(same_bits(arena.weights, before));
  };
  ends(tr::Adam{});
  ends(tr::Nadam{});
  ends(tr::Adamax{});
  ends(tr::Lion{});
  ends(tr::RMSprop{});
  ends(tr::RMSprop{.momentum = 0.5, .centered = true});
  ends(tr::Adadelta{});
  ends(tr::SGD{.momentum = 0.9});
  ends(tr::SGD{.momentum = 0.9, .nesterov = true});
}

BOOST_AUTO_TEST_CASE_TEMPLATE(roots_of_vectors_are_those_of_numbers, T, Types) {
  using Vector = tr::detail::SimdVector<T>;
  std::vector<T> const values{0,
                              T(-0.0),
                              1,
                              2,
                              T(0.3),
                              T(1e-30),
                              std::numeric_limits<T>::denorm_min(),
                              std::numeric_limits<T>::max(),
                              std::numeric_limits<T>::infinity(),
                              9,
                              T(1e10),
                              7};
  for (T value : values) {
    std::vector<T> lanes(Vector::lanes, T(4)), right(Vector::lanes, T(2));
    for (std::size_t i = 0; i < Vector::lanes; i += 2) lanes[i] = value, right[i] = std::sqrt(value);
    Vector::store(lanes.data(), tr::math::sqrt(Vector::load(lanes.data())));
    BOOST_TEST(same_bits(lanes, right), value);
  }
  T negative[Vector::lanes] = {};
  negative[0] = T(-1);
  Vector::store(negative, tr::math::sqrt(Vector::load(negative)));
  BOOST_TEST(std::isnan(negative[0]));
}
