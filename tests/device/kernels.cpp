// Kernels by teams and lanes: sums of columns, rows shared by lanes, batches of products, sparse gradients of tables.
#define BOOST_TEST_MODULE device_kernels
#include "support/device.hpp"

#include "support/device_values.hpp"
#include "support/kokkos_fixture.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

#include "trireme/activations/relu.hpp"
#include "trireme/activations/softmax.hpp"
#include "trireme/backend/execution/space_context.hpp"
#include "trireme/backend/execution/storing_context.hpp"
#include "trireme/backend/execution/thread_context.hpp"
#include "trireme/backend/gemm/product_batch.hpp"
#include "trireme/layers/activation_kernels.hpp"
#include "trireme/layers/embedding_kernels.hpp"
#include "trireme/tensor/bfloat16.hpp"

using namespace trireme;
using trireme::test::OnDevice;

namespace {

using Context = SpaceContext<test::Device>;

/// Small integers, whose sums are exact in any order.
template <class T>
std::vector<T> integers(std::size_t count) {
  std::vector<T> values(count);
  for (std::size_t e = 0; e < count; ++e) values[e] = static_cast<T>(e * 7 % 23) - T(11);
  return values;
}
std::vector<double> numbers(std::size_t count) {
  std::vector<double> values(count);
  for (std::size_t e = 0; e < count; ++e) values[e] = std::sin(static_cast<double>(e * e + 1));
  return values;
}

template <class T>
void check_column_sums(Context& context, std::size_t rows, std::size_t columns) {
  auto const x = integers<T>(rows * columns);
  std::vector<T> right(columns + 1, T(0));
  for (std::size_t e = 0; e < x.size(); ++e) right[e % columns] += x[e];
  right[columns] = T(77);
  OnDevice<T> const matrix(x), sums(std::vector<T>(columns + 1, T(77)));
  context.column_sums("test", rows, columns, static_cast<T const*>(matrix.data()), sums.data());
  context.fence("sums");
  BOOST_TEST_CONTEXT(rows << " rows, " << columns << " columns")
  BOOST_TEST(sums.values() == right, boost::test_tools::per_element());
}

void check_equal(std::vector<double> const& is, std::vector<double> const& right) {
  BOOST_REQUIRE_EQUAL(is.size(), right.size());
  for (std::size_t i = 0; i < is.size(); ++i)
    BOOST_TEST(std::abs(is[i] - right[i]) <= 1e-13 * (1 + std::abs(right[i])));
}

/// Adds i to one sum, and 1 to the one of i modulo the others.
template <std::size_t Width>
struct Tally {
  static constexpr std::size_t width = Width;
  KOKKOS_FUNCTION void operator()(std::size_t i, double* sums) const {
    sums[0] += static_cast<double>(i);
    sums[1 + i % (width - 1)] += 1;
  }
};

template <std::size_t Width>
void check_totals(Context& context, std::size_t n) {
  std::vector<double> right(Width, 0.25);
  ThreadContext().accumulate("totals", n, Tally<Width>(), right.data());
  OnDevice<double> const totals(std::vector<double>(Width, 0.25));
  context.accumulate("totals", n, Tally<Width>(), totals.data());
  context.fence("totals");
  BOOST_TEST_CONTEXT(n << " indices, " << Width << " sums")
  BOOST_TEST(totals.values() == right, boost::test_tools::per_element());
}

/// Each element becomes its row's number times 1000, plus its column's.
struct Number {
  double* y;
  std::size_t columns;
  KOKKOS_FUNCTION void operator()(std::size_t i, std::size_t j) const {
    y[i * columns + j] += static_cast<double>(1000 * i + j);
  }
};

}  // namespace

BOOST_AUTO_TEST_CASE(sums_of_columns_are_exact_for_any_number_of_rows_and_columns) {
  Context context(test::device(1));
  for (std::size_t const rows : {0u, 1u, 2u, 255u, 256u, 257u, 1000u})
    for (std::size_t const columns : {1u, 3u, 10u, 32u, 33u, 300u}) {
      check_column_sums<float>(context, rows, columns);
      check_column_sums<double>(context, rows, columns);
    }
  for (std::size_t const rows : {65'536u, 65'537u, 140'001u}) check_column_sums<float>(context, rows, 3);
}

BOOST_AUTO_TEST_CASE(totals_take_every_index_once) {
  Context context(test::device(1));
  for (std::size_t const n : {0u, 1u, 127u, 1024u, 1025u, 300'000u}) {
    check_totals<2>(context, n);
    check_totals<3>(context, n);
    check_totals<40>(context, n);
    check_totals<700>(context, n);
  }
}

BOOST_AUTO_TEST_CASE(each_element_of_a_matrix_is_visited_once) {
  Context context(test::device(1));
  for (std::size_t const rows : {1u, 7u, 300u})
    for (std::size_t const columns : {1u, 3u, 64u, 70u}) {
      OnDevice<double> const y(std::vector<double>(rows * columns, 0.0));
      context.for_each("number", rows, columns, Number{y.data(), columns});
      context.fence("numbered");
      auto const values = y.values();
      bool right = true;
      for (std::size_t e = 0; e < values.size(); ++e)
        right = right && values[e] == static_cast<double>(1000 * (e / columns) + e % columns);
      BOOST_TEST(right, rows << " rows, " << columns << " columns");
    }
}

BOOST_AUTO_TEST_CASE(lanes_compute_a_row_as_one_thread_does) {
  Context context(test::device(1));
  ThreadContext thread;
  for (std::size_t const rows : {1u, 5u, 130u})
    for (std::size_t const columns : {1u, 2u, 31u, 32u, 33u, 100u}) {
      auto const x = numbers(rows * columns), dy = numbers(rows * columns + 1);
      std::vector<double> y(x.size()), dx(x.size());
      kernels::bias_activation(thread, Softmax{}, rows, columns, static_cast<double const*>(nullptr),
                               const_cast<double*>(x.data()), y.data());
      kernels::activation_gradient(thread, Softmax{}, rows, columns, x.data(), y.data(), dy.data(), dx.data());
      OnDevice<double> const device_x(x), device_dy(dy), device_y(x), device_dx(x);
      kernels::bias_activation(context, Softmax{}, rows, columns, static_cast<double const*>(nullptr), device_x.data(),
                               device_y.data());
      kernels::activation_gradient(context, Softmax{}, rows, columns, static_cast<double const*>(device_x.data()),
                                   static_cast<double const*>(device_y.data()),
                                   static_cast<double const*>(device_dy.data()), device_dx.data());
      context.fence("rows");
      check_equal(device_y.values(), y);
      check_equal(device_dx.values(), dx);
    }
}

BOOST_AUTO_TEST_CASE(bias_and_activation_reach_each_element_at_any_address) {
  Context context(test::device(1));
  ThreadContext thread;
  for (std::size_t const rows : {1u, 5u, 130u})
    for (std::size_t const columns : {1u, 4u, 6u, 12u, 64u})
      for (std::size_t const offset : {0u, 1u, 4u}) {
        auto const bias = numbers(offset + columns);
        auto y = numbers(offset + rows * columns + 3);
        OnDevice<double> const device_bias(bias), device_y(y);
        kernels::bias_activation(thread, ReLU{}, rows, columns, bias.data() + offset, y.data() + offset,
                                 y.data() + offset);
        kernels::bias_activation(context, ReLU{}, rows, columns,
                                 static_cast<double const*>(device_bias.data()) + offset, device_y.data() + offset,
                                 device_y.data() + offset);
        context.fence("activated");
        BOOST_TEST(device_y.values() == y, rows << " rows, " << columns << " columns, offset " << offset);
      }
}

BOOST_AUTO_TEST_CASE(rounding_reaches_each_number_at_any_address) {
  Context context(test::device(1));
  for (std::size_t const count : {0u, 1u, 3u, 4u, 5u, 1001u})
    for (std::size_t const offset : {0u, 1u}) {
      auto const from = numbers(offset + count + 2);
      std::vector<double> expected(from.size(), 7.0);
      OnDevice<double> const device_from(from), to(expected);
      context.for_each("round", count,
                       kernels::Round<double, BFloat16>{device_from.data() + offset, to.data() + offset});
      context.fence("rounded");
      for (std::size_t i = offset; i < offset + count; ++i) expected[i] = static_cast<double>(BFloat16(from[i]));
      BOOST_TEST(to.values() == expected, count << " numbers, offset " << offset);
    }
}

BOOST_AUTO_TEST_CASE(batches_of_products_take_any_strides) {
  Context context(test::device(1));
  ThreadContext thread;
  constexpr std::size_t samples = 3, heads = 2, length = 19, width = 5;
  auto const a = numbers(samples * length * heads * width), b = numbers(a.size() + 3);
  for (bool const transposed : {false, true}) {
    // (length, width) by (width, length) for each head, or the transpose of the first by the second.
    std::size_t const m = transposed ? width : length, n = transposed ? width : length, k = transposed ? length : width;
    auto const batch = [&](double const* left, double const* right, double* c) {
      return ProductBatch<double>{.first = {.m = m,
                                            .n = n,
                                            .k = k,
                                            .a = left,
                                            .lda = heads * width,
                                            .b = right,
                                            .ldb = heads * width,
                                            .c = c,
                                            .ldc = n,
                                            .transpose_a = transposed,
                                            .transpose_b = !transposed},
                                  .count = samples,
                                  .group = heads,
                                  .groups = {length * heads * width, length * heads * width, heads * m * n},
                                  .within = {width, width, m * n}};
    };
    std::vector<double> c(samples * heads * m * n);
    gemm_batch(thread, batch(a.data(), b.data(), c.data()));
    OnDevice<double> const device_a(a), device_b(b), device_c(std::vector<double>(c.size(), 1e30));
    gemm_batch(context, batch(device_a.data(), device_b.data(), device_c.data()));
    context.fence("products");
    check_equal(device_c.values(), c);
  }
}

BOOST_AUTO_TEST_CASE(rows_of_an_index_that_occurs_several_times_are_added_up) {
  Context context(test::device(1));
  constexpr std::size_t positions = 50, rows = 7, columns = 40;
  std::vector<double> indices(positions);
  for (std::size_t p = 0; p < positions; ++p) indices[p] = static_cast<double>(p * p % 9);  // 7 and 8 are no rows
  auto const dy = numbers(positions * columns);
  std::vector<double> right(rows * columns, 0.5);
  kernels::AddToTable<double> const add{indices.data(), dy.data(), right.data(), positions, rows, columns};
  for (std::size_t block = 0; block < add.blocks(); ++block) add(block);
  OnDevice<double> const device_indices(indices), device_dy(dy), table(std::vector<double>(rows * columns, 0.5));
  context.for_rows("table", positions, columns,
                   kernels::AddToTableByIndex<double>{
                       {device_indices.data(), device_dy.data(), table.data(), positions, rows, columns}});
  context.fence("table");
  BOOST_TEST(table.values() == right, boost::test_tools::per_element());  // in the same order, so the same bits
}
