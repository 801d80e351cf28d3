#define BOOST_TEST_MODULE shuffle
#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <array>
#include <set>
#include <vector>

#include "trireme/data/from_generator.hpp"
#include "trireme/data/from_tensor_slices.hpp"
#include "unit/data/collect.hpp"

using namespace trireme;
using namespace trireme::test;
using boost::test_tools::per_element;

namespace {
std::vector<int> sorted(std::vector<int> values) {
  std::sort(values.begin(), values.end());
  return values;
}
auto stream_of(int n) {
  return data::from_generator({1}, {}, [n] {
    return [n, i = 0](std::span<float> x, std::span<std::int32_t> y) mutable {
      if (i == n) return false;
      x[0] = static_cast<float>(i);
      y[0] = i++;
      return true;
    };
  });
}
}  // namespace

BOOST_AUTO_TEST_CASE(a_shuffled_epoch_is_a_permutation_and_the_same_for_any_number_of_ranks) {
  Samples const samples(37);
  auto const data = data::from_tensor_slices(samples.y, samples.y).shuffle(5, 7).batch(GlobalBatch{8});
  auto const alone = labels(data);
  BOOST_TEST(alone != counted(0, 37));
  BOOST_TEST(sorted(alone) == counted(0, 37), per_element());
  for (std::size_t ranks = 2; ranks <= 5; ++ranks) BOOST_TEST(labels(data, ranks) == alone, per_element());
}

BOOST_AUTO_TEST_CASE(each_epoch_and_each_seed_has_its_own_order_that_can_be_had_again) {
  Samples const samples(50);
  auto const plain = data::from_tensor_slices(samples.y, samples.y);
  auto const data = plain.shuffle(50, 7).batch(GlobalBatch{8});
  std::set<std::vector<int>> orders;
  for (std::uint64_t epoch = 0; epoch < 20; ++epoch) orders.insert(labels(data, 1, epoch));
  BOOST_TEST(orders.size() == 20);
  BOOST_TEST(!orders.contains(labels(plain.shuffle(50, 8).batch(GlobalBatch{8}))));
  BOOST_TEST(labels(data, 3, 19) == labels(data, 1, 19), per_element());

  auto stream = data.stream<float, std::int32_t>({});
  drain<float, std::int32_t>(data, stream);
  stream.rewind(3);
  BOOST_TEST((drain<float, std::int32_t>(data, stream) == pieces(data, {}, 3)));
}

BOOST_AUTO_TEST_CASE(the_permutations_of_four_samples_are_equally_frequent) {
  std::vector<std::size_t> order;
  std::array<int, 256> count{};
  int const draws = 24000;
  for (int epoch = 0; epoch < draws; ++epoch) {
    data::permute(order, 4, data::IndexSequence(11, 0, static_cast<std::uint64_t>(epoch)));
    ++count[order[0] + 4 * order[1] + 16 * order[2] + 64 * order[3]];
  }
  double chi_square = 0;
  int kinds = 0;
  for (int const n : count)
    if (n != 0) {
      ++kinds;
      chi_square += (n - 1000.0) * (n - 1000.0) / 1000.0;
    }
  BOOST_TEST(kinds == 24);
  BOOST_TEST(chi_square < 49.7);  // 23 degrees of freedom: exceeded with probability 0.001
}

BOOST_AUTO_TEST_CASE(random_integers_stay_below_bounds_beyond_32_bits_and_reach_all_of_the_range) {
  data::IndexSequence random(3, 0, 0);
  std::size_t const bound = std::size_t{3} << 40;
  std::size_t thirds[3] = {};
  for (int i = 0; i < 3000; ++i) {
    std::size_t const value = random.below(bound);
    BOOST_TEST_REQUIRE(value < bound);
    ++thirds[value >> 40];
  }
  for (std::size_t const n : thirds) BOOST_TEST((n > 880 && n < 1120));  // 1000, deviation 26
  for (int i = 0; i < 100; ++i) BOOST_TEST(random.below(1) == 0);
}

BOOST_AUTO_TEST_CASE(processes_shuffle_their_own_samples_in_different_orders) {
  std::vector<std::size_t> first, second;
  data::permute(first, 30, data::IndexSequence(1, 0, 0));
  data::permute(second, 30, data::IndexSequence(1, 1, 0));
  BOOST_TEST(first != second);
}

BOOST_AUTO_TEST_CASE(a_generator_is_shuffled_within_a_window_and_alike_on_all_ranks) {
  auto const data = stream_of(40).shuffle(8, 7).batch(GlobalBatch{6});
  auto const alone = labels(data);
  BOOST_TEST(sorted(alone) == counted(0, 40), per_element());
  BOOST_TEST(alone != counted(0, 40));
  // The sample at a position was in the window then: nothing comes more than 7 places early.
  for (std::size_t i = 0; i < alone.size(); ++i) BOOST_TEST(alone[i] < static_cast<int>(i + 8));
  for (std::size_t ranks = 2; ranks <= 5; ++ranks) BOOST_TEST(labels(data, ranks) == alone, per_element());
  BOOST_TEST(labels(data, 1, 1) != alone);
  BOOST_TEST(labels(data, 1, 0) == alone, per_element());
}

BOOST_AUTO_TEST_CASE(a_window_of_one_keeps_the_order_and_one_larger_than_the_stream_takes_all_of_it) {
  BOOST_TEST(labels(stream_of(10).shuffle(1, 7).batch(GlobalBatch{3})) == counted(0, 10), per_element());
  auto const all = labels(stream_of(10).shuffle(1000, 7).batch(GlobalBatch{3}));
  BOOST_TEST(sorted(all) == counted(0, 10), per_element());
  BOOST_TEST(all != counted(0, 10));
  BOOST_CHECK_THROW(stream_of(10).shuffle(0, 7), ValueError);
  BOOST_TEST(labels(stream_of(0).shuffle(5, 7).batch(GlobalBatch{3})).empty());
}

BOOST_AUTO_TEST_CASE(inputs_targets_and_weights_stay_together) {
  Samples const samples(20);
  HostTensor<float> const x{nullptr, samples.x.data(), {20, 2}, {}};
  std::vector<double> weight;
  for (int i = 0; i < 20; ++i) weight.push_back(0.5 * i);
  auto const data = data::from_tensor_slices(x, samples.y, weight).shuffle(1, 3).batch(GlobalBatch{6});
  for (auto const& batch : batches(data, 3))
    for (Row const& row : batch) {
      BOOST_TEST(row.x[0] == 2.5 * row.y[0]);
      BOOST_TEST(row.x[1] == -row.y[0]);
      BOOST_TEST(row.weight == 0.5 * row.y[0]);
    }
}
