#define BOOST_TEST_MODULE transformations
#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>
#include <set>
#include <vector>

#include "trireme/data/from_generator.hpp"
#include "trireme/data/from_tensor_slices.hpp"
#include "unit/data/collect.hpp"

using namespace trireme;
using namespace trireme::test;
using boost::test_tools::per_element;

namespace {
auto ten() {
  std::vector<std::int32_t> numbers = counted(0, 10);
  return data::from_tensor_slices(std::vector<std::int32_t>(numbers), std::move(numbers));
}
auto generated(int n) {
  return data::from_generator<std::int32_t>({}, {}, [n] {
    return [n, i = 0](std::span<std::int32_t> x, std::span<std::int32_t> y) mutable {
      if (i == n) return false;
      x[0] = y[0] = i++;
      return true;
    };
  });
}
std::vector<int> joined(std::initializer_list<std::vector<int>> parts) {
  std::vector<int> result;
  for (auto const& part : parts) result.insert(result.end(), part.begin(), part.end());
  return result;
}
template <class Data>
void check(Data const& data, std::vector<int> const& expected) {
  for (std::size_t ranks = 1; ranks <= 4; ++ranks) BOOST_TEST(labels(data, ranks) == expected, per_element());
}
template <class Data>
std::vector<std::size_t> sizes(Data const& data) {
  std::vector<std::size_t> result;
  for (auto const& batch : batches(data)) result.push_back(batch.size());
  return result;
}
}  // namespace

BOOST_AUTO_TEST_CASE(take_skip_and_repeat_before_batch_count_samples) {
  GlobalBatch const four{4};
  auto const chains = [&](auto const& source) {
    check(source.take(5).batch(four), counted(0, 5));
    check(source.take(99).batch(four), counted(0, 10));
    check(source.skip(7).batch(four), counted(7, 10));
    check(source.skip(99).batch(four), {});
    check(source.skip(2).take(3).batch(four), counted(2, 5));
    check(source.take(5).skip(3).batch(four), counted(3, 5));
    check(source.repeat(2).batch(four), joined({counted(0, 10), counted(0, 10)}));
    check(source.take(3).repeat(3).skip(2).batch(four), joined({{2}, counted(0, 3), counted(0, 3)}));
    check(source.repeat().take(23).batch(four), joined({counted(0, 10), counted(0, 10), counted(0, 3)}));
    check(source.repeat(0).batch(four), {});
    BOOST_TEST(sizes(source.repeat(2).batch(four)) == (std::vector<std::size_t>{4, 4, 4, 4, 4}), per_element());
  };
  chains(ten());
  chains(generated(10));
}

BOOST_AUTO_TEST_CASE(take_skip_and_repeat_after_batch_count_batches) {
  auto const chains = [&](auto const& source) {
    auto const data = source.batch(GlobalBatch{4});
    check(data.take(2), counted(0, 8));
    check(data.take(9), counted(0, 10));
    check(data.skip(1), counted(4, 10));
    check(data.skip(3), {});
    check(data.skip(1).take(1), counted(4, 8));
    check(data.repeat(2), joined({counted(0, 10), counted(0, 10)}));
    BOOST_TEST(sizes(data.repeat(2)) == (std::vector<std::size_t>{4, 4, 2, 4, 4, 2}), per_element());
    check(data.take(2).repeat(2), joined({counted(0, 8), counted(0, 8)}));
    check(data.skip(2).repeat(3), joined({counted(8, 10), counted(8, 10), counted(8, 10)}));
    check(data.repeat(2).skip(2).take(2), joined({counted(8, 10), counted(0, 4)}));
    check(data.repeat().take(5), joined({counted(0, 10), counted(0, 8)}));
    check(data.take(2).repeat(3).skip(5), counted(4, 8));
    check(data.take(1).repeat(2).repeat(2).skip(1), joined({counted(0, 4), counted(0, 4), counted(0, 4)}));
    check(data.repeat(0), {});
    check(source.repeat().batch(GlobalBatch{4}).repeat(0).take(2), {});
  };
  chains(ten());
  chains(generated(10));
}

BOOST_AUTO_TEST_CASE(the_number_of_samples_and_batches_is_known_where_it_can_be) {
  auto const batches_of = [](auto const& data) { return data.batches_per_epoch({1, 3}); };
  BOOST_TEST(batches_of(ten().repeat(2).take(13).batch(GlobalBatch{4})).value() == 4);
  BOOST_TEST(batches_of(ten().batch(GlobalBatch{4}).repeat(3).skip(1)).value() == 8);
  BOOST_TEST(batches_of(ten().batch(GlobalBatch{4}).repeat().take(5)).value() == 5);
  BOOST_TEST(batches_of(ten().repeat().batch(GlobalBatch{4}).take(5)).value() == 5);
  BOOST_TEST(!batches_of(ten().batch(GlobalBatch{4}).repeat()).has_value());
  BOOST_TEST(!batches_of(ten().repeat().batch(GlobalBatch{4})).has_value());
  BOOST_TEST(batches_of(ten().repeat().batch(GlobalBatch{4}).repeat(0)).value() == 0);
  BOOST_TEST(batches_of(ten().repeat().batch(GlobalBatch{4}).repeat(0).take(2)).value() == 0);
  BOOST_TEST(batches_of(ten().batch(GlobalBatch{4}).repeat().repeat(0).take(2)).value() == 0);
  BOOST_TEST(batches_of(generated(10).batch(GlobalBatch{4}).repeat(0).take(2)).value() == 0);
  BOOST_TEST(!batches_of(generated(10).batch(GlobalBatch{4})).has_value());
  BOOST_TEST(batches_of(generated(10).cache().batch(GlobalBatch{4})).value() == 3);
  BOOST_TEST(ten().repeat(2).skip(3).size().value() == 17);
  BOOST_TEST(ten().batch(GlobalBatch{4}).size().value() == 10);
  BOOST_TEST(!ten().repeat().size().has_value());
  BOOST_TEST(ten().repeat().take(12).size().value() == 12);
}

BOOST_AUTO_TEST_CASE(what_is_shuffled_before_repeat_is_shuffled_anew_in_each_pass_and_epoch) {
  auto const check_passes = [](auto const& data) {
    auto const first = labels(data, 1, 0), second = labels(data, 1, 1);
    BOOST_TEST_REQUIRE(first.size() == 20);
    std::vector<std::vector<int>> passes;
    for (auto const& epoch : {first, second})
      for (int pass = 0; pass < 2; ++pass) {
        passes.emplace_back(epoch.begin() + 10 * pass, epoch.begin() + 10 * (pass + 1));
        auto sorted = passes.back();
        std::sort(sorted.begin(), sorted.end());
        BOOST_TEST(sorted == counted(0, 10), per_element());
      }
    std::sort(passes.begin(), passes.end());
    BOOST_TEST((std::unique(passes.begin(), passes.end()) == passes.end()));
    BOOST_TEST(labels(data, 3, 1) == second, per_element());
  };
  check_passes(ten().shuffle(10, 3).repeat(2).batch(GlobalBatch{5}));
  check_passes(ten().shuffle(10, 3).batch(GlobalBatch{5}).repeat(2));
  check_passes(generated(10).shuffle(10, 3).batch(GlobalBatch{5}).repeat(2));
}

BOOST_AUTO_TEST_CASE(passes_of_nested_repeats_differ_within_and_between_epochs) {
  auto const check_passes = [](auto const& data) {
    std::set<std::vector<int>> orders;
    for (std::uint64_t epoch = 0; epoch < 3; ++epoch) {
      auto const all = labels(data, 1, epoch);
      BOOST_TEST_REQUIRE(all.size() == 40);
      for (auto pass = all.begin(); pass != all.end(); pass += 10) orders.emplace(pass, pass + 10);
      BOOST_TEST(labels(data, 3, epoch) == all, per_element());
    }
    BOOST_TEST(orders.size() == 12);
  };
  auto const samples = [](auto const& shuffled) { return shuffled.repeat().take(20).repeat().take(40); };
  check_passes(samples(ten().shuffle(10, 3)).batch(GlobalBatch{5}));
  check_passes(samples(generated(10).shuffle(10, 3)).batch(GlobalBatch{5}));
  check_passes(samples(ten().shuffle(10, 3).repeat()).batch(GlobalBatch{5}));
  auto const batches = [](auto const& shuffled) {
    return shuffled.batch(GlobalBatch{5}).repeat().take(4).repeat().take(8);
  };
  check_passes(batches(ten().shuffle(10, 3)));
  check_passes(batches(generated(10).shuffle(10, 3)));
  check_passes(batches(ten().shuffle(10, 3).repeat(1)));
  check_passes(ten().shuffle(10, 3).batch(GlobalBatch{5}).repeat().take(4).repeat(2));
  check_passes(ten().shuffle(10, 3).batch(GlobalBatch{5}).repeat().take(2).repeat().take(4).repeat().take(8));
  check_passes(ten().shuffle(10, 3).repeat().take(20).batch(GlobalBatch{5}).repeat().take(8));
}

// Seeds promise orders: these numbers of passes stay as they are.
BOOST_AUTO_TEST_CASE(a_pass_of_a_repeat_has_the_order_of_the_epoch_of_its_number) {
  auto const shuffled = ten().shuffle(10, 3);
  auto const order_of = [&](std::uint64_t pass) { return labels(shuffled.batch(GlobalBatch{5}), 1, pass); };
  auto const two_from = [&](std::uint64_t pass) { return joined({order_of(pass), order_of(pass + 1)}); };
  for (std::uint64_t const epoch : {0u, 1u, 7u}) {
    std::uint64_t const endless = epoch << 32;
    BOOST_TEST(labels(shuffled.repeat(2).batch(GlobalBatch{5}), 1, epoch) == two_from(2 * epoch), per_element());
    BOOST_TEST(labels(shuffled.batch(GlobalBatch{5}).repeat(2), 1, epoch) == two_from(2 * epoch), per_element());
    BOOST_TEST(labels(shuffled.repeat().take(20).batch(GlobalBatch{5}), 1, epoch) == two_from(endless), per_element());
    BOOST_TEST(labels(shuffled.batch(GlobalBatch{5}).repeat().take(4), 1, epoch) == two_from(endless), per_element());
  }
}

BOOST_AUTO_TEST_CASE(repeat_before_shuffle_mixes_the_passes) {
  auto order = labels(ten().repeat(2).shuffle(20, 3).batch(GlobalBatch{5}));
  BOOST_TEST(order.size() == 20);
  std::vector<int> first_half(order.begin(), order.begin() + 10);
  std::sort(first_half.begin(), first_half.end());
  BOOST_TEST(first_half != counted(0, 10));
  std::sort(order.begin(), order.end());
  for (int i = 0; i < 20; ++i) BOOST_TEST(order[static_cast<std::size_t>(i)] == i / 2);
}

BOOST_AUTO_TEST_CASE(map_changes_inputs_their_extents_and_their_scalar) {
  auto const data = ten().map<float>({2}, [](std::span<std::int32_t const> in, std::span<float> out) {
    out[0] = 0.5f * static_cast<float>(in[0]);
    out[1] = 1.0f;
  });
  BOOST_TEST(data.x_extents() == std::vector<std::size_t>{2}, per_element());
  int expected = 0;
  for (auto const& batch : batches<double>(data.shuffle(1, 1).take(10).batch(GlobalBatch{3}), 2))
    for (Row const& row : batch) {
      BOOST_TEST(row.x[0] == 0.5 * row.y[0]);
      BOOST_TEST(row.x[1] == 1.0);
      ++expected;
    }
  BOOST_TEST(expected == 10);
}

BOOST_AUTO_TEST_CASE(map_of_inputs_and_targets_makes_dense_targets_of_labels) {
  auto const data = ten().map<float, float>({}, {10},
                                            [](std::span<std::int32_t const> x, std::span<std::int32_t const> y,
                                               std::span<float> out_x, std::span<float> one_hot) {
                                              out_x[0] = static_cast<float>(-x[0]);
                                              std::fill(one_hot.begin(), one_hot.end(), 0.0f);
                                              one_hot[static_cast<std::size_t>(y[0])] = 1.0f;
                                            });
  int i = 0;
  for (auto const& batch : batches<float, float>(data.batch(GlobalBatch{4}), 3))
    for (Row const& row : batch) {
      BOOST_TEST_REQUIRE(row.y.size() == 10);
      BOOST_TEST(row.y[static_cast<std::size_t>(i)] == 1);
      BOOST_TEST(row.x[0] == -i);
      ++i;
    }
  BOOST_TEST(i == 10);
}

BOOST_AUTO_TEST_CASE(a_cache_calls_the_map_before_it_once_for_each_sample_that_is_drawn) {
  auto const calls = std::make_shared<std::atomic<int>>(0);
  auto const data = ten()
                        .map<float>({},
                                    [calls](std::span<std::int32_t const> in, std::span<float> out) {
                                      ++*calls;
                                      out[0] = static_cast<float>(in[0]);
                                    })
                        .cache();
  auto const drawn = data.batch(GlobalBatch{4});
  pieces(drawn, {0, 2});
  pieces(drawn, {0, 2}, 1);
  BOOST_TEST(calls->load() == 5);  // rows 0, 1, 4, 5, 8
  check(drawn, counted(0, 10));
  check(data.shuffle(10, 1).batch(GlobalBatch{4}).take(0), {});
  pieces(data.shuffle(10, 1).batch(GlobalBatch{4}).prefetch(2), {}, 1);
  BOOST_TEST(calls->load() == 10);
}

BOOST_AUTO_TEST_CASE(a_cache_keeps_the_order_of_the_first_pass_and_runs_a_generator_once) {
  auto const shuffled = ten().shuffle(10, 5).cache().batch(GlobalBatch{4});
  BOOST_TEST(labels(shuffled, 1, 1) == labels(shuffled, 1, 0), per_element());
  BOOST_TEST(labels(shuffled) == labels(ten().shuffle(10, 5).batch(GlobalBatch{4})), per_element());

  auto const runs = std::make_shared<int>(0);
  auto const kept = data::from_generator<float>({}, {}, [runs] {
                      ++*runs;
                      return [i = 0](std::span<float> x, std::span<std::int32_t> y) mutable {
                        if (i == 7) return false;
                        x[0] = static_cast<float>(i);
                        y[0] = i++;
                        return true;
                      };
                    }).cache();
  check(kept.batch(GlobalBatch{3}), counted(0, 7));
  check(kept.batch(GlobalBatch{3}).cache(), counted(0, 7));
  auto order = labels(kept.shuffle(1, 2).batch(GlobalBatch{3}), 2);  // a full permutation, whatever the buffer
  BOOST_TEST(order != counted(0, 7));
  BOOST_TEST(*runs == 1);
  BOOST_CHECK_THROW(ten().repeat().cache(), ValueError);
}

BOOST_AUTO_TEST_CASE(a_stream_can_begin_at_any_batch) {
  auto const from = [](auto const& data) {
    auto const all = pieces(data, {1, 2}, 2);
    for (std::size_t first = 0; first <= all.size() + 1; ++first) {
      auto const rest = pieces(data, {1, 2}, 2, first);
      BOOST_TEST_REQUIRE(rest.size() == all.size() - std::min(first, all.size()));
      BOOST_TEST(std::equal(rest.begin(), rest.end(), all.end() - static_cast<std::ptrdiff_t>(rest.size())));
    }
  };
  from(ten().shuffle(10, 5).repeat(2).batch(GlobalBatch{3}));
  from(ten().shuffle(10, 5).batch(GlobalBatch{3}).repeat(2));
  from(generated(10).shuffle(4, 5).batch(GlobalBatch{3}).take(3).repeat(2));
  from(generated(10).batch(GlobalBatch{3}).repeat(2).prefetch(3));
}

BOOST_AUTO_TEST_CASE(numbers_that_are_no_counts_are_errors_that_name_operation_and_number) {
  auto const says = [](auto const& f) { return message_of<ValueError>([&] { f(ten()); }); };
  std::string const samples = ": the number of samples has to be whole, and from ";
  BOOST_TEST(says([](auto d) { d.take(-3); }) == "take(-3)" + samples + "0 to 281474976710656");
  BOOST_TEST(says([](auto d) { d.skip(~std::size_t{0}); }) ==
             "skip(18446744073709551615)" + samples + "0 to 281474976710656");
  BOOST_TEST(says([](auto d) { d.take(2.5); }) == "take(2.5)" + samples + "0 to 281474976710656");
  BOOST_TEST(says([](auto d) { d.batch(GlobalBatch{0}); }) == "batch(0)" + samples + "1 to 281474976710656");
  BOOST_TEST(says([](auto d) { d.batch(PerReplicaBatch{std::size_t{1} << 63}); }) ==
             "batch(9223372036854775808)" + samples + "1 to 281474976710656");
  BOOST_TEST(says([](auto d) { d.shuffle(0, 7); }) ==
             "shuffle(0): the number of samples in the buffer has to be whole, and from 1 to 281474976710656");
  BOOST_TEST(says([](auto d) { d.repeat(std::size_t{1} << 62); }) ==
             "repeat(4611686018427387904): the number of passes has to be whole, and from 0 to 281474976710656");
  BOOST_TEST(says([](auto d) { d.prefetch(-2); }) ==
             "prefetch(-2): the number of batches has to be whole, and from 0 to 65536");
  BOOST_TEST(says([](auto d) { d.batch(GlobalBatch{4}).prefetch(1 << 20); }) ==
             "prefetch(1048576): the number of batches has to be whole, and from 0 to 65536");
  BOOST_TEST(says([](auto d) { d.batch(GlobalBatch{4}).take(-1); }) ==
             "take(-1): the number of batches has to be whole, and from 0 to 281474976710656");
  BOOST_TEST(says([](auto d) { d.batch(GlobalBatch{4}).repeat(-7); }) ==
             "repeat(-7): the number of passes has to be whole, and from 0 to 281474976710656");
}

BOOST_AUTO_TEST_CASE(counts_may_be_of_any_arithmetic_type) {
  GlobalBatch const four{4};
  check(ten().take(3.0).batch(four), counted(0, 3));
  check(ten().skip(7L).batch(four), counted(7, 10));
  check(ten().batch(four).take(std::uint8_t{255}), counted(0, 10));
  check(ten().repeat(-1).take(12u).batch(four), joined({counted(0, 10), counted(0, 2)}));
  check(ten().repeat(data::forever).batch(four).repeat(-1).take(1), counted(0, 4));
}

BOOST_AUTO_TEST_CASE(prefetch_of_minus_one_leaves_the_number_to_the_library) {
  check(ten().prefetch(-1).batch(GlobalBatch{4}), counted(0, 10));
  check(generated(10).batch(GlobalBatch{4}).prefetch(data::autotune), counted(0, 10));
}

BOOST_AUTO_TEST_CASE(large_counts_wrap_nowhere) {
  std::size_t const large = data::Count::largest;
  for (auto const& source : {ten(), generated(10)}) {
    check(source.take(large).skip(1).batch(GlobalBatch{large}), counted(1, 10));
    check(source.skip(large).batch(GlobalBatch{4}), {});
    check(source.batch(GlobalBatch{large}).skip(large), {});
    check(source.repeat().skip(large).batch(GlobalBatch{4}).skip(large).take(0), {});
    check(source.repeat().batch(GlobalBatch{large}).skip(large), {});
  }
  for (auto const& data : {ten().repeat(large).repeat(large).batch(GlobalBatch{4}),
                           ten().batch(GlobalBatch{4}).repeat(large).repeat(large)})
    BOOST_TEST(message_of<ValueError>([&] { data.batches_per_epoch({}); }).starts_with("repeat(281474976710656) of "));
  // Of a generator a slot has room for what comes, not for what a batch may hold.
  check(generated(10).batch(GlobalBatch{large}), counted(0, 10));
}

BOOST_AUTO_TEST_CASE(a_generator_without_samples_that_is_repeated_without_end_has_no_batch) {
  check(generated(0).repeat().batch(GlobalBatch{4}), {});
  check(generated(0).repeat().take(12).batch(GlobalBatch{4}), {});
  check(generated(0).shuffle(3, 1).batch(GlobalBatch{4}).repeat(), {});
}
