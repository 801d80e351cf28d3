// Gradients of weights that a listener takes block by block are those that would have been written.
#define BOOST_TEST_MODULE layers_weight_gradient
#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <cstddef>
#include <vector>

#include "support/kokkos_fixture.hpp"
#include "support/numbers.hpp"
#include "trireme/backend/execution/space_context.hpp"
#include "trireme/layers/weight_gradient.hpp"

using namespace trireme;
using test::numbers;

namespace {

/// Writes what it takes to where it would have been, and counts how often. Threads take different elements.
template <class T>
struct Collector final : GradientListener {
  Collector(T const* at, std::size_t n, bool taking) : arena(at), accepts(taking), values(n), times(n) {}
  void gradients_ready(void const*) override {}
  bool takes(void const* gradients, std::size_t count) override {
    asked = true;
    BOOST_TEST(gradients == arena);
    BOOST_TEST(count == values.size());
    return accepts;
  }
  void take(void const* gradients, void const* from, std::size_t count) override {
    auto const begin = static_cast<std::size_t>(static_cast<T const*>(gradients) - arena);
    for (std::size_t i = 0; i < count; ++i) {
      values[begin + i] = static_cast<T const*>(from)[i];
      ++times[begin + i];
    }
  }

  T const* arena;
  bool accepts, asked = false;
  std::vector<T> values;
  std::vector<int> times;
};

template <class T>
void check(std::size_t inputs, std::size_t units, std::size_t rows, bool accepts = true) {
  SpaceContext<Kokkos::DefaultHostExecutionSpace> context;
  T const untouched = 5;
  auto const x = numbers<T>(rows * inputs, 1), dy = numbers<T>(rows * units, 2);
  std::vector<T> whole(inputs * units), arena(inputs * units, untouched);
  auto const product = [&](T* c) {
    return Product<T>{.m = inputs,
                      .n = units,
                      .k = rows,
                      .a = x.data(),
                      .lda = inputs,
                      .b = dy.data(),
                      .ldb = units,
                      .c = c,
                      .ldc = units,
                      .transpose_a = true};
  };
  weight_gradient(context, product(whole.data()), nullptr);
  Collector<T> taken(arena.data(), arena.size(), accepts);
  weight_gradient(context, product(arena.data()), &taken);
  BOOST_TEST_CONTEXT(inputs << " inputs, " << units << " units, " << rows << " rows") {
    if (taken.asked && accepts) {
      BOOST_TEST((taken.values == whole));
      BOOST_TEST(std::ranges::count(taken.times, 1) == static_cast<std::ptrdiff_t>(whole.size()));
      BOOST_TEST(std::ranges::count(arena, untouched) == static_cast<std::ptrdiff_t>(whole.size()));
    } else {
      BOOST_TEST((arena == whole));
      BOOST_TEST(std::ranges::count(taken.times, 0) == static_cast<std::ptrdiff_t>(whole.size()));
    }
    if (detail::has_simd) BOOST_TEST(taken.asked == (rows > 0 && rows <= gradient_block_rows));
  }
}

}  // namespace

BOOST_AUTO_TEST_CASE(blocks_are_the_gradient_to_the_bit_and_each_element_is_taken_once) {
  for (std::size_t inputs : {1u, 5u, 13u, 100u, 257u})
    for (std::size_t units : {1u, 7u, 10u, 64u, 1023u, 1024u, 1025u, 2500u})
      for (std::size_t rows : {1u, 2u, 8u, 9u, 33u}) {
        check<float>(inputs, units, rows);
        check<double>(inputs, units, rows);
      }
}

BOOST_AUTO_TEST_CASE(a_listener_that_takes_none_finds_the_gradient_in_the_arena) {
  check<float>(100, 64, 3, false);
  check<double>(100, 64, 3, false);
}

BOOST_AUTO_TEST_CASE(the_gradient_of_many_rows_or_of_none_is_written) {
  check<float>(20, 30, gradient_block_rows + 1);
  check<float>(20, 30, 0);
}
