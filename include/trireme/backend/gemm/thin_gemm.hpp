/// Products of a few rows with a matrix that no cache holds: reading it dominates, so it is read once, in stored order.
#pragma once

#include <algorithm>
#include <cstddef>

#include "trireme/backend/gemm/pack.hpp"
#include "trireme/backend/gemm/product.hpp"
#include "trireme/backend/simd/simd.hpp"
#include "trireme/backend/simd/simd_vector.hpp"

namespace trireme::detail {

/// For 1 to `most_rows` rows and a b that is not transposed. Each sum is taken in the order of k, so that it does not
/// depend on how columns are divided.
template <class T>
class ThinGemm {
  using Vector = SimdVector<T>;
  using V = typename Vector::type;
  static constexpr std::size_t lanes = Vector::lanes;
  /// Rows of b that are read side by side: they fit the registers, and a processor prefetches that many.
  static constexpr std::size_t depth = 8;
  /// Bytes of sums that stay in the first cache.
  static constexpr std::size_t sums_bytes = std::size_t{16} << 10;
  static constexpr std::size_t line = 64 / sizeof(T);

 public:
  static constexpr std::size_t most_rows = 8;

  static void run(Product<T> const& p) {
    std::size_t const most = sums_bytes / (p.m * sizeof(T)) / lanes * lanes;
    for (std::size_t j = 0; j < p.n; j += most) run_columns(p, j, std::min(most, p.n - j));
  }

 private:
  /// The sums lie apart from c, a line more than its rows: at a stride that is a power of two, rows of c and of b would
  /// fall into the same few sets of the cache.
  static void run_columns(Product<T> const& p, std::size_t first, std::size_t columns) {
    std::size_t const ld = (columns + line - 1) / line * line + line;
    T* const sums = pack_buffer<T, 0>(p.m * ld);
    for (std::size_t i = 0; i < p.m; ++i)
      if (p.accumulate)
        std::copy_n(p.c + i * p.ldc + first, columns, sums + i * ld);
      else
        std::fill_n(sums + i * ld, columns, T{0});
    std::size_t k = 0;
    for (; k + depth <= p.k; k += depth) add_rows<depth>(p, k, first, columns, sums, ld);
    for (; k < p.k; ++k) add_rows<1>(p, k, first, columns, sums, ld);
    for (std::size_t i = 0; i < p.m; ++i) std::copy_n(sums + i * ld, columns, p.c + i * p.ldc + first);
  }

  /// sums += a[:, k…] b[k…, first…] for Depth rows of b.
  template <std::size_t Depth>
  static void add_rows(Product<T> const& p, std::size_t k, std::size_t first, std::size_t columns, T* sums,
                       std::size_t ld) {
    T const* const a = p.a.block();
    V factors[most_rows][Depth];
    for (std::size_t i = 0; i < p.m; ++i)
      for (std::size_t r = 0; r < Depth; ++r)
        factors[i][r] = (p.transpose_a ? a[(k + r) * p.lda + i] : a[i * p.lda + k + r]) + V{};
    T const* const b = p.b + k * p.ldb + first;
    std::size_t const full = columns / lanes * lanes;
    V right[Depth];
    for (std::size_t j = 0; j < full; j += lanes) {
      TRIREME_UNROLL(8)
      for (std::size_t r = 0; r < Depth; ++r) right[r] = Vector::load(b + r * p.ldb + j);
      for (std::size_t i = 0; i < p.m; ++i) {
        V sum = Vector::load(sums + i * ld + j);
        TRIREME_UNROLL(8)
        for (std::size_t r = 0; r < Depth; ++r) sum += factors[i][r] * right[r];
        Vector::store(sums + i * ld + j, sum);
      }
    }
    if (full == columns) return;
    for (std::size_t r = 0; r < Depth; ++r) right[r] = Vector::load(b + r * p.ldb + full, columns - full);
    for (std::size_t i = 0; i < p.m; ++i) {
      V sum = Vector::load(sums + i * ld + full);  // rows of sums are longer than the columns
      for (std::size_t r = 0; r < Depth; ++r) sum += factors[i][r] * right[r];
      Vector::store(sums + i * ld + full, sum);
    }
  }
};

}  // namespace trireme::detail
