// ranks: 1 2 3 4
#define BOOST_TEST_MODULE gradient_buckets
#include "support/kokkos_fixture.hpp"

#include <algorithm>
#include <cstddef>
#include <vector>

#include "trireme/strategies/gradients/gradient_buckets.hpp"

using namespace trireme;

namespace {

using Buckets = GradientBuckets<float, Kokkos::DefaultHostExecutionSpace, Communicator>;

static_assert(automatic_bucket_bytes(100) == std::size_t{1} << 20);
static_assert(automatic_bucket_bytes(std::size_t{1} << 30) == std::size_t{128} << 20);

Communicator const& world() { return test::environment().world(); }

constexpr std::size_t parameters = 5, size = 48;

ModelDescription description() {
  ModelDescription model;
  for (std::size_t i = 0; i < parameters; ++i) {
    ParameterInfo parameter;
    parameter.offset = i * size;
    parameter.size = size;
    model.parameters.push_back(parameter);
  }
  model.elements = parameters * size;
  return model;
}

/// A step whose backward tells of one parameter after the other; returns how many sums are wrong.
std::size_t wrong_sums(Buckets& buckets) {
  std::vector<float> arena(parameters * size);
  std::size_t const ranks = world().size();
  buckets.begin(arena.data());
  for (std::size_t p = parameters; p-- > 0;) {
    for (std::size_t i = 0; i < size; ++i) arena[p * size + i] = static_cast<float>((world().rank() + 1) * (i + p));
    if (auto* const sink = buckets.sink()) sink->ready(arena.data() + p * size);
  }
  buckets.finish();
  std::size_t wrong = 0;
  for (std::size_t p = 0; p < parameters; ++p)
    for (std::size_t i = 0; i < size; ++i)
      wrong += arena[p * size + i] != static_cast<float>(ranks * (ranks + 1) / 2 * (i + p)) ? 1 : 0;
  return wrong;
}

}  // namespace

BOOST_AUTO_TEST_CASE(buckets_of_any_size_give_the_sums_of_all_ranks) {
  for (std::size_t const bytes : {std::size_t{0}, std::size_t{1}, 2 * size * sizeof(float), std::size_t{1} << 20}) {
    Buckets buckets(world(), {}, description(), bytes);
    BOOST_TEST_CONTEXT("buckets of " << bytes << " bytes")
    for (int step = 0; step < 3; ++step) BOOST_TEST(wrong_sums(buckets) == 0u);
  }
}

// As after an exception in the backward of all ranks, which the program catches.
BOOST_AUTO_TEST_CASE(sums_that_a_step_left_under_way_change_nothing_of_the_next) {
  constexpr std::size_t large = 1 << 20;
  ModelDescription model;
  for (std::size_t p = 0; p < 2; ++p) {
    ParameterInfo parameter;
    parameter.offset = p * large;
    parameter.size = large;
    model.parameters.push_back(parameter);
  }
  model.elements = 2 * large;
  Buckets buckets(world(), {}, model, large * sizeof(float));
  BOOST_TEST(buckets.count() == 2u);
  std::vector<float> arena(model.elements);
  std::size_t wrong = 0;
  for (std::size_t step = 1; step <= 4; ++step) {
    buckets.begin(arena.data());
    auto const own = static_cast<float>(step * (world().rank() + 1));
    std::fill(arena.begin(), arena.end(), own);
    if (auto* const sink = buckets.sink()) sink->ready(arena.data() + large);
    if (step % 2 == 1) continue;
    buckets.finish();
    std::size_t const ranks = world().size();
    auto const sum = static_cast<float>(step * ranks * (ranks + 1) / 2);
    wrong += static_cast<std::size_t>(std::count_if(arena.begin(), arena.end(), [&](float x) { return x != sum; }));
  }
  BOOST_TEST(wrong == 0u);
}

BOOST_AUTO_TEST_CASE(the_number_of_buckets_follows_from_their_size) {
  BOOST_TEST(Buckets(world(), {}, description(), 1).count() == parameters);
  BOOST_TEST(Buckets(world(), {}, description(), 2 * size * sizeof(float)).count() == 3u);
  Buckets const automatic(world(), {}, description(), 0);
  BOOST_TEST(automatic.bucket_bytes() == std::size_t{1} << 20);
  BOOST_TEST(automatic.count() == 1u);
}

BOOST_AUTO_TEST_CASE(times_are_taken_while_somebody_asks_for_them) {
  Buckets buckets(world(), {}, description(), 1);
  ExchangeTimes times;
  wrong_sums(buckets);
  BOOST_TEST(times.steps == 0u);
  buckets.measure(&times);
  for (int step = 0; step < 3; ++step) wrong_sums(buckets);
  buckets.measure(nullptr);
  wrong_sums(buckets);
  bool const exchanges = world().size() > 1;
  BOOST_TEST(times.steps == (exchanges ? 3u : 0u));
  BOOST_TEST((times.in_calls > 0) == exchanges);
  BOOST_TEST(times.under_way >= times.in_calls * (1 - 1e-9));
  BOOST_TEST(times.hidden() >= -1e-9);
  BOOST_TEST(times.hidden() < 1.0);
}
