// The memory that a cache takes follows the samples that are drawn.
#define BOOST_TEST_MODULE cache_memory
#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <new>
#include <span>
#include <vector>

#include "trireme/data/from_generator.hpp"
#include "trireme/data/from_tensor_slices.hpp"
#include "unit/data/collect.hpp"

using namespace trireme;
using namespace trireme::test;
using boost::test_tools::per_element;

namespace {
std::atomic<std::size_t> largest{0};  // of the allocations, in bytes
}  // namespace

[[gnu::noinline]] void* operator new(std::size_t size) {
  if (size > largest) largest = size;
  if (void* const memory = std::malloc(size)) return memory;
  throw std::bad_alloc();
}
[[gnu::noinline]] void operator delete(void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }

namespace {

constexpr std::size_t numbers = 256;  // 1 KiB a sample
constexpr GlobalBatch four{4};

/// Samples without end, or so many, each with its number as label.
auto generated(int size = -1) {
  return data::from_generator({numbers}, {}, [size] {
    return [size, i = 0](std::span<float> x, std::span<std::int32_t> y) mutable {
      if (i == size) return false;
      std::fill(x.begin(), x.end(), static_cast<float>(i));
      y[0] = i++;
      return true;
    };
  });
}

/// The rows of the data in two epochs, as they should be, and the largest allocation meanwhile.
template <class Data>
std::size_t largest_of(Data const& data, std::vector<int> const& expected) {
  largest = 0;
  for (std::uint64_t epoch = 0; epoch < 2; ++epoch)
    for (std::size_t ranks = 1; ranks <= 2; ++ranks) BOOST_TEST(labels(data, ranks, epoch) == expected, per_element());
  return largest;
}

}  // namespace

BOOST_AUTO_TEST_CASE(batches_that_are_left_out_before_a_cache_take_no_memory) {
  constexpr std::size_t most = 64 << 10;  // 8 samples are kept; a vector that grows takes up to twice as much
  BOOST_TEST(largest_of(generated().batch(four).skip(100).take(2).cache(), counted(400, 408)) < most);
  BOOST_TEST(largest_of(generated().batch(four).skip(60).skip(40).take(2).cache(), counted(400, 408)) < most);
  BOOST_TEST(largest_of(generated().batch(four).take(102).skip(100).cache(), counted(400, 408)) < most);
  BOOST_TEST(largest_of(generated().batch(four).skip(100).take(2).cache().skip(1), counted(404, 408)) < most);
  auto twice = counted(400, 408);
  twice.insert(twice.end(), twice.begin(), twice.end());
  BOOST_TEST(largest_of(generated().batch(four).skip(100).take(2).repeat(2).cache(), twice) < most);
  twice.erase(twice.begin(), twice.begin() + 4);
  BOOST_TEST(largest_of(generated().batch(four).skip(100).take(2).repeat(2).skip(1).cache(), twice) < most);
}

BOOST_AUTO_TEST_CASE(batches_that_are_left_out_take_no_memory_where_the_data_end_without_a_take) {
  constexpr std::size_t most = 64 << 10;
  BOOST_TEST(largest_of(generated(408).batch(four).skip(100).cache(), counted(400, 408)) < most);
  BOOST_TEST(largest_of(generated(407).batch(four).skip(60).skip(40).cache(), counted(400, 407)) < most);
  BOOST_TEST(largest_of(generated(408).batch(four).skip(100).cache().take(1), counted(400, 404)) < most);
  BOOST_TEST(largest_of(generated(399).batch(four).skip(100).cache(), {}) < most);
  auto twice = counted(400, 408);
  twice.insert(twice.end(), twice.begin(), twice.end());
  BOOST_TEST(largest_of(generated(408).batch(four).skip(100).repeat(2).cache(), twice) < most);
}

BOOST_AUTO_TEST_CASE(samples_that_are_not_drawn_yet_take_no_memory) {
  constexpr std::size_t most = 64 << 10, huge = 1'000'000;
  auto const first_two = [](auto const& data) { return data.take(2); };
  BOOST_TEST(largest_of(first_two(generated(6).repeat().take(huge).cache().batch(four)), {0, 1, 2, 3, 4, 5, 0, 1}) <
             most);
  BOOST_TEST(largest_of(first_two(generated(6).repeat().batch(four).take(huge).cache()), {0, 1, 2, 3, 4, 5, 0, 1}) <
             most);
  BOOST_TEST(largest_of(first_two(generated(6).repeat().batch(four).skip(3).take(huge).cache()),
                        {0, 1, 2, 3, 4, 5, 0, 1}) < most);
}
