#define BOOST_TEST_MODULE backend_split_gemm
#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <cstddef>
#include <vector>

#include <trireme/backend/gemm/split_gemm.hpp>

#include "support/kokkos_fixture.hpp"

using namespace trireme;
using detail::block_grid;

namespace {

static_assert(block_grid(256, 4096, 2).columns == 2);
static_assert(block_grid(4096, 10, 4).rows == 4);
static_assert(block_grid(4096, 4096, 16).rows == 4);
static_assert(block_grid(100, 100, 1).rows == 1);

template <class T>
std::vector<T> numbers(std::size_t n, std::size_t period) {
  std::vector<T> values(n);
  for (std::size_t i = 0; i < n; ++i) values[i] = static_cast<T>(i % period) - static_cast<T>(period / 2);
  return values;
}

/// Small integers have exact sums, so every way gives the same to the bit. Rows are longer than they need to be.
template <class T>
void check_split(std::size_t threads, std::size_t m, std::size_t n, std::size_t k, bool transpose_a, bool transpose_b,
                 bool accumulate) {
  std::size_t const lda = (transpose_a ? m : k) + 3, ldb = (transpose_b ? k : n) + 5, ldc = n + 7;
  auto const a = numbers<T>(lda * (transpose_a ? k : m), 7), b = numbers<T>(ldb * (transpose_b ? n : k), 5);
  auto whole = numbers<T>(ldc * m, 11), split = whole;
  Product<T> product{.m = m,
                     .n = n,
                     .k = k,
                     .a = a.data(),
                     .lda = lda,
                     .b = b.data(),
                     .ldb = ldb,
                     .c = whole.data(),
                     .ldc = ldc,
                     .transpose_a = transpose_a,
                     .transpose_b = transpose_b,
                     .accumulate = accumulate};
  detail::host_blas_gemm(product);
  product.c = split.data();
  detail::split_gemm(Kokkos::DefaultHostExecutionSpace(), threads, product);
  BOOST_TEST_CONTEXT(threads << " threads, " << m << " x " << n << " x " << k << (transpose_a ? ", a transposed" : "")
                             << (transpose_b ? ", b transposed" : ""))
  BOOST_TEST((split == whole));
}

}  // namespace

BOOST_AUTO_TEST_CASE(blocks_together_are_the_whole_product) {
  for (std::size_t const threads : {1u, 2u, 3u, 4u, 7u, 16u})
    for (bool const transpose_a : {false, true})
      for (bool const transpose_b : {false, true}) {
        check_split<float>(threads, 203, 331, 129, transpose_a, transpose_b, false);
        check_split<float>(threads, 203, 331, 129, transpose_a, transpose_b, true);
        check_split<double>(threads, 1, 4099, 1100, transpose_a, transpose_b, false);
        check_split<float>(threads, 4099, 3, 400, transpose_a, transpose_b, false);
      }
}

BOOST_AUTO_TEST_CASE(parts_of_the_depth_add_up_to_the_whole_product) {
  static_assert(detail::by_depth(
      Product<float>{.m = 32, .n = 128, .k = 784, .a = {}, .lda = 784, .b = {}, .ldb = 128, .c = {}, .ldc = 128}));
  for (std::size_t const threads : {1u, 2u, 3u, 4u, 7u, 16u})
    for (bool const accumulate : {false, true}) {
      check_split<float>(threads, 32, 128, 784, false, false, accumulate);
      check_split<double>(threads, 1, 400, 1100, false, false, accumulate);
      check_split<float>(threads, 190, 700, 770, false, false, accumulate);  // threads share the sum, too
      check_split<float>(threads, 5, 1400, 20, false, false, accumulate);    // some own no rows of b
    }
}

BOOST_AUTO_TEST_CASE(parts_of_the_depth_read_scattered_rows) {
  std::size_t const m = 9, n = 64, k = 600;
  auto const a = numbers<float>(m * k, 7), b = numbers<float>(k * n, 5);
  std::vector<float const*> rows;
  for (std::size_t i = 0; i < m; ++i) rows.push_back(a.data() + i * k);
  std::vector<float> whole(m * n), split(m * n);
  Product<float> product{
      .m = m, .n = n, .k = k, .a = a.data(), .lda = k, .b = b.data(), .ldb = n, .c = whole.data(), .ldc = n};
  detail::host_blas_gemm(product);
  product.a = RowsView<float>::scattered(rows.data());
  product.c = split.data();
  for (std::size_t const threads : {2u, 3u}) {
    std::fill(split.begin(), split.end(), 9.0f);
    detail::split_gemm(Kokkos::DefaultHostExecutionSpace(), threads, product);
    BOOST_TEST((split == whole));
  }
}

BOOST_AUTO_TEST_CASE(more_threads_than_rows_and_columns_leave_some_without_work) {
  check_split<float>(16, 5, 7, 200'000, false, false, false);
  check_split<float>(16, 17, 31, 20'000, true, true, true);
}
