#define BOOST_TEST_MODULE generator
#include <boost/test/unit_test.hpp>

#include <cmath>
#include <cstdint>
#include <memory>
#include <random>
#include <span>
#include <vector>

#include "trireme/data/from_generator.hpp"
#include "trireme/data/from_tensor_slices.hpp"
#include "unit/data/collect.hpp"

using namespace trireme;
using namespace trireme::test;
using boost::test_tools::per_element;

namespace {
/// Counts what it produced, and can jump.
struct Seekable {
  int next = 0;
  std::shared_ptr<int> produced;
  bool operator()(std::span<float> x, std::span<std::int32_t> y) {
    if (next >= 20) return false;
    ++*produced;
    x[0] = static_cast<float>(next);
    y[0] = next++;
    return true;
  }
  void seek(std::size_t position) { next = static_cast<int>(position); }
};
}  // namespace

BOOST_AUTO_TEST_CASE(ranks_share_the_batches_of_a_generator_and_all_know_the_size_of_the_last_one) {
  for (int const n : {0, 1, 6, 7, 12, 13}) {
    auto const data = data::from_generator<double>({2, 1}, {1}, [n] {
                        return [n, i = 0](std::span<double> x, std::span<std::int32_t> y) mutable {
                          if (i == n) return false;
                          x[0] = x[1] = 0.1 * i;
                          y[0] = i++;
                          return true;
                        };
                      }).batch(GlobalBatch{6});
    BOOST_TEST(labels(data) == counted(0, n), per_element());
    for (std::size_t ranks = 2; ranks <= 5; ++ranks) BOOST_TEST(batches(data, ranks) == batches(data, 1));
    BOOST_TEST(!data.size().has_value());
    BOOST_TEST(data.max_rows({1, 4}) == 2);
  }
}

BOOST_AUTO_TEST_CASE(a_generator_made_with_the_number_of_the_pass_may_differ_from_epoch_to_epoch) {
  auto const data = data::from_generator({}, {}, [](std::uint64_t pass) {
    return [pass, i = 0](std::span<float> x, std::span<std::int32_t> y) mutable {
      if (i == 3) return false;
      x[0] = 0;
      y[0] = 10 * static_cast<int>(pass) + i++;
      return true;
    };
  });
  BOOST_TEST(labels(data.batch(GlobalBatch{2}), 1, 4) == counted(40, 43), per_element());
  BOOST_TEST(labels(data.repeat(2).batch(GlobalBatch{6}), 1, 1) == (std::vector<int>{20, 21, 22, 30, 31, 32}),
             per_element());
  BOOST_TEST(labels(data.batch(GlobalBatch{3}).repeat(2), 1, 1) == (std::vector<int>{20, 21, 22, 30, 31, 32}),
             per_element());
}

BOOST_AUTO_TEST_CASE(a_generator_that_can_seek_is_spared_samples_that_are_skipped) {
  auto const produced = std::make_shared<int>(0);
  auto const data = data::from_generator({}, {}, [produced] { return Seekable{0, produced}; });
  BOOST_TEST(labels(data.skip(15).batch(GlobalBatch{2})) == counted(15, 20), per_element());
  BOOST_TEST(*produced == 5);
}

BOOST_AUTO_TEST_CASE(a_generator_that_draws_by_the_number_of_the_pass_gives_any_number_of_processes_the_same) {
  namespace tr = trireme;
  auto const curve = tr::data::from_generator<float, float>({1}, {1}, [](std::uint64_t pass) {
    return [random = std::mt19937_64(pass), left = 1000](std::span<float> x, std::span<float> y) mutable {
      if (left == 0) return false;  // the pass ends
      --left;
      x[0] = std::uniform_real_distribution<float>(0, 3)(random);
      y[0] = std::sin(x[0]);
      return true;
    };
  });
  auto const train = curve.shuffle(200, 7).batch(tr::GlobalBatch{32});

  auto const first = batches<float, float>(train), second = batches<float, float>(train, 1, 1);
  BOOST_TEST(first.size() == 32u);
  BOOST_TEST((first != second));
  BOOST_TEST((batches<float, float>(train, 3) == first));
  BOOST_TEST((batches<float, float>(train, 3, 1) == second));
}

BOOST_AUTO_TEST_CASE(an_endless_generator_gives_as_many_batches_as_are_drawn) {
  auto const data = data::from_generator({}, {}, [] {
                      return [i = 0](std::span<float> x, std::span<std::int32_t> y) mutable {
                        x[0] = 0;
                        y[0] = i++;
                        return true;
                      };
                    }).batch(GlobalBatch{4});
  auto stream = data.stream<float, std::int32_t>({1, 2});
  Batch<float, std::int32_t> batch;
  for (int k = 0; k < 100; ++k) {
    BOOST_TEST_REQUIRE(stream.next(batch));
    BOOST_TEST(batch.y[0] == 4 * k + 2);
  }
  BOOST_TEST(labels(data.take(2)) == counted(0, 8), per_element());
}

// What ranks compare batch by batch; no message is spent on others.
BOOST_AUTO_TEST_CASE(only_what_comes_from_a_generator_uncached_may_run_out) {
  auto const negative = [](std::span<float const> in, std::span<float> out) { out[0] = -in[0]; };
  auto const may_run_out = [&](auto const& d) {
    GlobalBatch const four{4};
    std::vector<bool> const chains{d.batch(four).may_run_out({}), d.skip(1).take(9).batch(four).may_run_out({}),
                                   d.map({}, negative).shuffle(3, 1).repeat().batch(four).may_run_out({}),
                                   d.repeat().take(9).batch(four).repeat().may_run_out({}),
                                   d.batch(four).skip(1).take(2).may_run_out({})};
    std::vector<bool> const cached{
        d.cache().repeat().batch(four).may_run_out({}), d.batch(four).skip(1).cache().may_run_out({}),
        d.batch(four).take(2).cache().repeat().may_run_out({}), d.repeat().take(9).cache().batch(four).may_run_out({})};
    BOOST_TEST(cached == std::vector<bool>(cached.size(), false), per_element());
    return chains;
  };
  auto const produced = std::make_shared<int>(0);
  auto const generator = data::from_generator({}, {}, [produced] { return Seekable{0, produced}; });
  std::vector<float> const x(20);
  std::vector<std::int32_t> const y(20);
  auto const of_generator = may_run_out(generator), in_memory = may_run_out(data::from_tensor_slices(x, y));
  BOOST_TEST(of_generator == std::vector<bool>(of_generator.size(), true), per_element());
  BOOST_TEST(in_memory == std::vector<bool>(in_memory.size(), false), per_element());
}
