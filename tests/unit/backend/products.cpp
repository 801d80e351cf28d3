/// Products of one thread against sums in double: every layout, sizes around the edges of tiles, panels and blocks.
#define BOOST_TEST_MODULE products
#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <utility>
#include <vector>

#include "support/numbers.hpp"
#include "trireme/backend/gemm/cache_gemm.hpp"

namespace tr = trireme;
using trireme::test::numbers;

namespace {

constexpr std::size_t gap = 3;  // columns that lie behind those of each matrix

/// Two matrices, and their product in double, m × n.
template <class T>
struct Factors {
  std::size_t m, n, k;
  bool transpose_a, transpose_b;
  std::size_t lda = (transpose_a ? m : k) + gap, ldb = (transpose_b ? k : n) + gap;
  std::vector<T> a = numbers<T>((transpose_a ? k : m) * lda, 1), b = numbers<T>((transpose_b ? n : k) * ldb, 2);
  std::vector<double> sums = std::vector<double>(m * n);

  Factors(std::size_t m_, std::size_t n_, std::size_t k_, bool transpose_a_, bool transpose_b_)
      : m(m_), n(n_), k(k_), transpose_a(transpose_a_), transpose_b(transpose_b_) {
    for (std::size_t i = 0; i < m; ++i)
      for (std::size_t r = 0; r < k; ++r) {
        auto const factor = static_cast<double>(transpose_a ? a[r * lda + i] : a[i * lda + r]);
        T const* const row = b.data() + (transpose_b ? r : r * ldb);
        std::size_t const step = transpose_b ? ldb : 1;
        double* const sum = sums.data() + i * n;
        for (std::size_t j = 0; j < n; ++j) sum[j] += factor * static_cast<double>(row[j * step]);
      }
  }
};

/// ‖c - exact‖ / ‖exact‖ where c has `gap` columns more than the product, which have to stay as they were. Where rows
/// of a are `scattered` they lie apart in an order of their own, and the numbers before the `gap` are not the
/// product's.
template <class T>
double error_of(Factors<T> const& factors, bool accumulate, bool scattered) {
  auto const& [m, n, k, transpose_a, transpose_b, lda, ldb, a, b, sums] = factors;
  std::size_t const ldc = n + gap;
  auto const before = numbers<T>(m * ldc, 3);
  auto c = before;
  tr::Product<T> product{.m = m,
                         .n = n,
                         .k = k,
                         .a = a.data(),
                         .lda = lda,
                         .b = b.data(),
                         .ldb = ldb,
                         .c = c.data(),
                         .ldc = ldc,
                         .transpose_a = transpose_a,
                         .transpose_b = transpose_b,
                         .accumulate = accumulate};
  // Each of the rows in memory of its own, so that whatever is read beside it shows under a sanitizer.
  std::vector<std::vector<T>> memory;
  std::vector<T const*> rows;
  if (scattered) {
    std::size_t const columns = lda - gap, count = a.size() / lda;
    for (std::size_t i = count; i-- > 0;) {
      std::vector<T> row(gap, T{1000});
      row.insert(row.end(), a.data() + i * lda, a.data() + i * lda + columns);
      memory.push_back(std::move(row));
    }
    for (std::size_t i = 0; i < count; ++i) rows.push_back(memory[count - 1 - i].data());
    product.a = tr::RowsView<T>::scattered(rows.data()).from_column(gap);
  }
  tr::detail::cache_gemm(product);
  double difference = 0, norm = 0;
  for (std::size_t i = 0; i < m; ++i) {
    for (std::size_t j = 0; j < n; ++j) {
      double const exact = sums[i * n + j] + (accumulate ? static_cast<double>(before[i * ldc + j]) : 0.0);
      difference += std::pow(static_cast<double>(c[i * ldc + j]) - exact, 2);
      norm += exact * exact;
    }
    for (std::size_t j = n; j < ldc; ++j) difference += c[i * ldc + j] == before[i * ldc + j] ? 0 : 1;
  }
  return std::sqrt(difference / norm);
}

template <class T>
void check(std::size_t m, std::size_t n, std::size_t k, double tolerance) {
  for (bool const transpose_a : {false, true})
    for (bool const transpose_b : {false, true}) {
      Factors<T> const factors(m, n, k, transpose_a, transpose_b);
      for (bool const accumulate : {false, true})
        for (bool const scattered : {false, true}) {
          double const error = error_of(factors, accumulate, scattered);
          BOOST_TEST_CONTEXT("m " << m << ", n " << n << ", k " << k << ", transpose_a " << transpose_a
                                  << ", transpose_b " << transpose_b << ", accumulate " << accumulate << ", scattered "
                                  << scattered)
          BOOST_TEST(error <= tolerance);
        }
    }
}

}  // namespace

BOOST_AUTO_TEST_CASE(products_of_small_extents_in_every_layout_equal_their_sums) {
  for (std::size_t m : {1u, 2u, 5u, 7u, 13u, 25u})
    for (std::size_t n : {1u, 2u, 3u, 7u, 8u, 9u, 10u, 16u, 17u, 31u, 33u, 64u, 65u, 112u})
      for (std::size_t k : {1u, 3u, 8u, 15u, 16u, 33u}) {
        check<float>(m, n, k, 2e-6);
        check<double>(m, n, k, 4e-15);
      }
}

BOOST_AUTO_TEST_CASE(products_deeper_and_higher_than_a_block_equal_their_sums) {
  for (std::size_t n : {1u, 10u, 40u, 128u}) {
    check<float>(100, n, 700, 4e-6);
    check<float>(3, n, 1030, 4e-6);
    check<float>(260, n, 300, 4e-6);
    check<float>(60, n, 1700, 6e-6);
    check<double>(200, n, 390, 4e-15);
  }
}

BOOST_AUTO_TEST_CASE(few_rows_with_a_large_matrix_equal_their_sums) {
  for (std::size_t m : {1u, 3u, 8u, 9u, 16u}) {
    check<float>(m, 517, 150, 2e-6);
    check<float>(m, 1037, 301, 4e-6);
    check<float>(m, 5003, 67, 2e-6);
    check<double>(m, 523, 291, 4e-15);
  }
}

BOOST_AUTO_TEST_CASE(rows_of_a_batch_with_a_large_matrix_equal_their_sums) {
  for (std::size_t m : {47u, 48u, 101u, 1025u}) {
    check<float>(m, 517, 650, 6e-6);
    check<double>(m, 300, 509, 4e-15);
  }
  check<float>(130, 200, 2100, 8e-6);
}

BOOST_AUTO_TEST_CASE(no_rows_with_a_large_matrix_change_nothing) {
  std::vector<float> const b(700 * 800);
  float untouched = 5;
  for (bool const transpose_b : {false, true})
    tr::detail::cache_gemm(tr::Product<float>{.m = 0,
                                              .n = 700,
                                              .k = 800,
                                              .a = b.data(),
                                              .lda = 800,
                                              .b = b.data(),
                                              .ldb = transpose_b ? 800u : 700u,
                                              .c = &untouched,
                                              .ldc = 700,
                                              .transpose_b = transpose_b});
  BOOST_TEST(untouched == 5);
}

BOOST_AUTO_TEST_CASE(products_for_a_blas_of_scattered_rows_equal_their_sums) {
  check<float>(20, 600, 500, 4e-6);  // 1.2 MB of b
}

BOOST_AUTO_TEST_CASE(scattered_rows_have_the_sums_of_those_that_lie_together_to_the_bit) {
  constexpr std::size_t m = 61, k = 700;
  auto const a = numbers<float>(m * k, 1), b = numbers<float>(k * 128, 2);
  std::vector<float const*> rows;
  for (std::size_t i = 0; i < m; ++i) rows.push_back(a.data() + i * k);
  for (bool const transpose_a : {false, true})
    for (std::size_t const n : {1u, 9u, 40u, 128u}) {
      std::size_t const height = transpose_a ? k : m;
      std::vector<float> together(height * n), apart(height * n);
      tr::Product<float> product{.m = height,
                                 .n = n,
                                 .k = transpose_a ? m : k,
                                 .a = a.data(),
                                 .lda = k,
                                 .b = b.data(),
                                 .ldb = n,
                                 .c = together.data(),
                                 .ldc = n,
                                 .transpose_a = transpose_a};
      tr::detail::cache_gemm(product);
      product.a = tr::RowsView<float>::scattered(rows.data());
      product.c = apart.data();
      tr::detail::cache_gemm(product);
      BOOST_TEST((apart == together), "m " << height << ", n " << n);
    }
}

BOOST_AUTO_TEST_CASE(columns_that_share_sets_of_a_cache_or_reach_far_are_packed) {
  auto const packed = [](std::size_t step, std::size_t depth, std::size_t row_stride = 1) {
    return tr::detail::StridedOperand<float>{.first = nullptr, .row_stride = row_stride, .step = step, .segment = depth}
        .reads_badly(64, std::size_t{128} << 10);
  };
  BOOST_TEST(packed(1024, 64));
  BOOST_TEST(!packed(1024, 32));  // 128 KiB
  BOOST_TEST(!packed(768, 512));
  BOOST_TEST(packed(768, 513));
  BOOST_TEST(!packed(784, 1024));
  BOOST_TEST(packed(30000, 64));
  BOOST_TEST(!packed(1, 1 << 20, 1024));  // not transposed
}

BOOST_AUTO_TEST_CASE(columns_of_a_have_the_same_sums_at_any_distance_to_the_bit) {
  constexpr std::size_t m = 600, n = 70, k = 67;  // more than 128 KiB, so that scattered rows are packed
  auto const numbers_of_a = numbers<float>(k * m, 1), b = numbers<float>(k * n, 2);
  auto const product_at = [&](std::size_t pitch, bool scattered) {
    std::vector<float> a(k * pitch), c(m * n);
    std::vector<float const*> rows;
    for (std::size_t r = 0; r < k; ++r) {
      std::copy_n(numbers_of_a.data() + r * m, m, a.data() + r * pitch);
      rows.push_back(a.data() + r * pitch);
    }
    tr::Product<float> product{.m = m,
                               .n = n,
                               .k = k,
                               .a = a.data(),
                               .lda = pitch,
                               .b = b.data(),
                               .ldb = n,
                               .c = c.data(),
                               .ldc = n,
                               .transpose_a = true};
    if (scattered) product.a = tr::RowsView<float>::scattered(rows.data());
    tr::detail::cache_gemm(product);
    return c;
  };
  auto const expected = product_at(m, false);
  for (std::size_t const pitch : {1000u, 1024u, 30000u})
    for (bool const scattered : {false, true})
      BOOST_TEST((product_at(pitch, scattered) == expected), "pitch " << pitch << ", scattered " << scattered);
}

BOOST_AUTO_TEST_CASE(sums_of_few_rows_do_not_depend_on_which_columns_are_beside_them) {
  constexpr std::size_t m = 3, n = 1040, k = 301, part = 700;
  auto const a = numbers<float>(m * k, 1), b = numbers<float>(k * n, 2);
  std::vector<float> whole(m * n), left(m * n);
  tr::Product<float> product{
      .m = m, .n = n, .k = k, .a = a.data(), .lda = k, .b = b.data(), .ldb = n, .c = whole.data(), .ldc = n};
  tr::detail::cache_gemm(product);
  product.n = part;
  product.c = left.data();
  tr::detail::cache_gemm(product);
  if (tr::detail::has_simd)
    for (std::size_t i = 0; i < m; ++i)
      BOOST_TEST(std::equal(left.data() + i * n, left.data() + i * n + part, whole.data() + i * n));
}
