#define BOOST_TEST_MODULE cache_limits
#include <boost/test/unit_test.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "trireme/data/from_generator.hpp"
#include "trireme/data/from_local_slices.hpp"
#include "trireme/data/from_tensor_slices.hpp"
#include "unit/data/collect.hpp"

using namespace trireme;
using namespace trireme::test;
using boost::test_tools::per_element;

namespace {

using Counter = std::shared_ptr<std::atomic<int>>;

Counter counter() { return std::make_shared<std::atomic<int>>(0); }

/// Samples i with the labels i, up to `size`; more than 1000 samples of a pass are an error instead of a full memory.
auto generated(Counter const& produced, int size = -1) {
  return data::from_generator({}, {}, [produced, size] {
    return [produced, size, i = 0](std::span<float> x, std::span<std::int32_t> y) mutable {
      if (i == size) return false;
      if (i == 1000) throw std::runtime_error("read on");
      ++*produced;
      x[0] = 0.5f * static_cast<float>(i);
      y[0] = i++;
      return true;
    };
  });
}

std::vector<int> joined(std::vector<std::vector<int>> const& parts) {
  std::vector<int> result;
  for (auto const& part : parts) result.insert(result.end(), part.begin(), part.end());
  return result;
}

/// The rows of `chain` over an endless generator, in several epochs and for several ranks, of which the generator makes
/// `samples` once.
template <class Chain>
void check_endless(Chain const& chain, std::vector<int> const& expected, int samples) {
  auto const produced = counter();
  auto const data = chain(generated(produced));
  for (std::uint64_t epoch = 0; epoch < 3; ++epoch)
    for (std::size_t ranks = 1; ranks <= 3; ++ranks) BOOST_TEST(labels(data, ranks, epoch) == expected, per_element());
  BOOST_TEST(produced->load() == samples);
  BOOST_TEST(!data.endless());
}

constexpr GlobalBatch four{4};

}  // namespace

BOOST_AUTO_TEST_CASE(a_cache_of_the_first_batches_reads_their_samples_alone) {
  check_endless([](auto const& d) { return d.batch(four).take(3).cache(); }, counted(0, 12), 12);
  check_endless([](auto const& d) { return d.batch(four).take(3).prefetch(5).cache().prefetch(2); }, counted(0, 12),
                12);
  check_endless([](auto const& d) { return d.batch(four).skip(2).take(3).cache(); }, counted(8, 20), 20);
  check_endless([](auto const& d) { return d.batch(four).take(5).skip(2).cache(); }, counted(8, 20), 20);
  check_endless([](auto const& d) { return d.batch(four).take(3).take(9).cache(); }, counted(0, 12), 12);
  check_endless([](auto const& d) { return d.batch(four).take(2).repeat(2).skip(1).cache(); },
                joined({counted(4, 8), counted(0, 8)}), 8);
  check_endless([](auto const& d) { return d.batch(four).take(2).repeat().take(3).cache(); },
                joined({counted(0, 8), counted(0, 4)}), 8);
  check_endless([](auto const& d) { return d.batch(four).repeat(2).take(3).cache(); }, counted(0, 12), 12);
  check_endless([](auto const& d) { return d.batch(four).take(3).cache().skip(1).repeat(2); },
                joined({counted(4, 12), counted(4, 12)}), 12);
  check_endless([](auto const& d) { return d.batch(four).take(3).cache().take(2).cache(); }, counted(0, 8), 12);
  check_endless([](auto const& d) { return d.batch(four).take(0).cache(); }, {}, 0);
  check_endless([](auto const& d) { return d.batch(four).repeat(0).cache(); }, {}, 0);
  check_endless([](auto const& d) { return d.repeat().batch(four).take(3).cache(); }, counted(0, 12), 12);
  check_endless([](auto const& d) { return d.skip(5).batch(four).take(2).cache(); }, counted(5, 13), 13);
  check_endless([](auto const& d) { return d.take(10).batch(four).take(9).cache(); }, counted(0, 10), 10);
}

BOOST_AUTO_TEST_CASE(a_cache_of_the_first_samples_reads_these_alone) {
  auto const negative = [](std::span<float const> in, std::span<float> out) { out[0] = -in[0]; };
  check_endless([](auto const& d) { return d.take(10).cache().batch(four); }, counted(0, 10), 10);
  check_endless([](auto const& d) { return d.skip(3).take(10).cache().batch(four); }, counted(3, 13), 13);
  check_endless([](auto const& d) { return d.take(10).skip(3).cache().batch(four); }, counted(3, 10), 10);
  check_endless([](auto const& d) { return d.repeat(3).take(10).cache().batch(four); }, counted(0, 10), 10);
  check_endless([](auto const& d) { return d.repeat().take(10).cache().batch(four); }, counted(0, 10), 10);
  check_endless([&](auto const& d) { return d.map({}, negative).take(6).cache().batch(four); }, counted(0, 6), 6);
  check_endless([&](auto const& d) { return d.take(6).map({}, negative).cache().batch(four); }, counted(0, 6), 6);
  check_endless([&](auto const& d) { return d.map({}, negative).batch(four).take(2).cache(); }, counted(0, 8), 8);
  check_endless([](auto const& d) { return d.take(6).cache().take(5).cache().batch(four); }, counted(0, 5), 6);
}

BOOST_AUTO_TEST_CASE(a_window_is_filled_once_before_a_cache_that_keeps_its_first_batches) {
  auto const produced = counter();
  auto const order = labels(generated(counter()).shuffle(6, 5).batch(four).take(3));
  auto const data = generated(produced).shuffle(6, 5).batch(four).take(3).cache();
  for (std::uint64_t epoch = 0; epoch < 3; ++epoch) BOOST_TEST(labels(data, 2, epoch) == order, per_element());
  BOOST_TEST(produced->load() <= 18);
  auto const one_after_another = generated(counter()).take(12).shuffle(6, 5).batch(four).take(2);
  BOOST_TEST(labels(one_after_another.cache(), 3, 1) == labels(one_after_another), per_element());
}

BOOST_AUTO_TEST_CASE(passes_without_end_can_be_cached_where_a_number_of_batches_is_taken) {
  Samples const samples(10);
  auto const ten = data::from_tensor_slices(HostTensor<float>{nullptr, samples.x.data(), {10, 2}, {}}, samples.y);
  auto const data = ten.repeat().batch(four).take(5).cache();
  BOOST_TEST(data.batches_per_epoch({1, 2}).value() == 5u);
  for (std::uint64_t epoch = 0; epoch < 2; ++epoch)
    BOOST_TEST(labels(data, 3, epoch) == joined({counted(0, 10), counted(0, 10)}), per_element());
  auto const shuffled = ten.shuffle(10, 7).repeat().batch(four).take(5);
  BOOST_TEST(labels(shuffled.cache(), 2, 1) == labels(shuffled), per_element());
  BOOST_TEST(data.repeat().endless());

  std::string const no_end = "cache() of a dataset without end: give it a take() before";
  BOOST_TEST(message_of<ValueError>([&] { ten.repeat().cache(); }) == no_end);
  BOOST_TEST(message_of<ValueError>([&] { ten.repeat().batch(four).cache(); }) == no_end);
  BOOST_TEST(message_of<ValueError>([&] { ten.repeat().batch(four).skip(2).repeat(3).cache(); }) == no_end);
}

BOOST_AUTO_TEST_CASE(a_cached_generator_that_ends_gives_what_it_gives_without_a_cache) {
  for (int const size : {0, 1, 7, 8, 9, 30}) {
    auto const same = [size](auto const& chain) {
      auto const produced = counter();
      auto const plain = chain(generated(counter(), size).batch(four));
      auto const cached = chain(generated(produced, size).batch(four)).cache();
      for (std::uint64_t epoch = 0; epoch < 2; ++epoch)
        for (std::size_t rank = 0; rank < 3; ++rank)
          BOOST_TEST((pieces(cached, {rank, 3}, epoch) == pieces(plain, {rank, 3}, epoch)));
      BOOST_TEST(produced->load() <= size);
    };
    same([](auto const& d) { return d; });
    same([](auto const& d) { return d.take(2); });
    same([](auto const& d) { return d.skip(1).take(1); });
    same([](auto const& d) { return d.take(3).skip(1); });
    same([](auto const& d) { return d.repeat(3).skip(2).take(4); });
    same([](auto const& d) { return d.take(2).repeat(3).skip(3); });
    same([](auto const& d) { return d.skip(1).repeat(2).take(3).repeat(2); });
  }
}

BOOST_AUTO_TEST_CASE(batches_of_each_replica_are_as_many_samples_as_there_are_replicas) {
  auto const produced = counter();
  auto const data = generated(produced).batch(PerReplicaBatch{2}).take(3).cache();
  BOOST_TEST(produced->load() == 0);
  BOOST_TEST(labels(data, 2) == counted(0, 12), per_element());
  BOOST_TEST(labels(data, 2, 1) == counted(0, 12), per_element());
  BOOST_TEST(produced->load() == 12);
  BOOST_TEST(labels(data, 3) == counted(0, 18), per_element());
  BOOST_TEST(labels(data, 1) == counted(0, 6), per_element());
  BOOST_TEST(labels(data, 2) == counted(0, 12), per_element());
}

BOOST_AUTO_TEST_CASE(samples_that_each_rank_owns_are_cached_as_far_as_its_batches_go) {
  for (std::vector<std::size_t> const& sizes : {std::vector<std::size_t>{3, 5}, {0, 5}, {3, 0, 9}})
    for (std::size_t rank = 0; rank < sizes.size(); ++rank) {
      std::vector<float> x;
      std::vector<std::int32_t> y;
      for (std::size_t i = 0; i < sizes[rank]; ++i) {
        x.push_back(static_cast<float>(i));
        y.push_back(static_cast<std::int32_t>(100 * rank + i));
      }
      auto const calls = counter();
      auto const own = data::from_local_slices(data::LocalSizes{sizes, rank}, x, y)
                           .map({},
                                [calls](std::span<float const> in, std::span<float> out) {
                                  ++*calls;
                                  out[0] = in[0];
                                })
                           .shuffle(1, 3);
      DataShard const share{rank, sizes.size()};
      auto const same = [&](auto const& plain) {
        auto const expected = pieces(plain, share);
        std::size_t rows = 0;
        for (Piece const& piece : expected) rows += piece.rows.size();
        auto const cached = plain.cache();
        calls->store(0);
        for (std::uint64_t epoch = 0; epoch < 3; ++epoch) BOOST_TEST((pieces(cached, share, epoch) == expected));
        BOOST_TEST(calls->load() == static_cast<int>(rows));
        BOOST_TEST(cached.lineage().hash() == plain.lineage().hash());
      };
      same(own.repeat().batch(four).take(6));
      same(own.repeat(4).batch(four).take(3));
      same(own.repeat(2).batch(four));
    }
}

BOOST_AUTO_TEST_CASE(a_generator_without_samples_that_is_cached_has_no_batch) {
  auto const none = generated(counter(), 0);
  BOOST_TEST(labels(none.repeat().batch(four).take(5).cache()).empty());
  BOOST_TEST(labels(none.repeat().take(5).cache().batch(four)).empty());
  BOOST_TEST(labels(none.batch(four).take(5).cache()).empty());
}

BOOST_AUTO_TEST_CASE(a_cache_of_passes_without_end_reads_as_far_as_it_is_drawn) {
  auto const produced = counter();
  auto const data = generated(produced, 10).repeat().take(5000).cache().batch(four);
  BOOST_TEST(data.batches_per_epoch({}).value() == 1250u);
  BOOST_TEST(produced->load() <= 1);
  for (int epoch = 0; epoch < 2; ++epoch)
    for (std::size_t ranks = 1; ranks <= 3; ++ranks)
      BOOST_TEST(labels(data.take(2), ranks) == counted(0, 8), per_element());
  BOOST_TEST(produced->load() == 8);
  BOOST_TEST(labels(data.take(5), 2) == joined({counted(0, 10), counted(0, 10)}), per_element());
  BOOST_TEST(produced->load() == 20);
  BOOST_TEST(labels(data.skip(1248), 2) == joined({counted(2, 10)}), per_element());
  BOOST_TEST(produced->load() == 5000);
}

BOOST_AUTO_TEST_CASE(a_cache_of_shuffled_passes_gives_their_samples_with_weights_in_batches_of_any_size) {
  Samples const samples(10);
  auto const plain = data::from_tensor_slices(HostTensor<float>{nullptr, samples.x.data(), {10, 2}, {}}, samples.y,
                                              std::vector<double>{.5, 1, 1.5, 2, 2.5, 3, 3.5, 4, 4.5, 5})
                         .shuffle(10, 7)
                         .repeat()
                         .take(150);
  auto const cached = plain.cache();
  for (std::size_t const size : {1u, 7u, 16u, 32u, 150u})
    for (std::uint64_t epoch = 0; epoch < 2; ++epoch)
      for (std::size_t rank = 0; rank < 2; ++rank)
        BOOST_TEST((pieces(cached.batch(GlobalBatch{size}), {rank, 2}, epoch) ==
                    pieces(plain.batch(GlobalBatch{size}), {rank, 2})));
}

BOOST_AUTO_TEST_CASE(a_cache_goes_on_after_an_error_of_its_generator) {
  for (bool const endless : {false, true}) {
    auto const failures = counter();
    auto const generator = data::from_generator({}, {}, [failures] {
      return [failures, i = 0](std::span<float> x, std::span<std::int32_t> y) mutable {
        if (i == 9 && (*failures)++ == 0) throw std::runtime_error("once");
        if (i == 20) return false;
        x[0] = 0;
        y[0] = i++;
        return true;
      };
    });
    auto const data = (endless ? generator.repeat().take(20).cache() : generator.cache()).batch(four);
    BOOST_CHECK_THROW(labels(data), std::runtime_error);
    BOOST_TEST(labels(data) == counted(0, 20), per_element());
    BOOST_TEST(labels(data, 2, 1) == counted(0, 20), per_element());
  }
}
