/// Products of contiguous rows with contiguous columns: sums along the rows, where a result has too few columns (or
/// rows) for tiles.
#pragma once

#include <cstddef>

#include "trireme/backend/gemm/pack.hpp"
#include "trireme/backend/simd/simd.hpp"
#include "trireme/backend/simd/simd_vector.hpp"

namespace trireme::detail {

/// c[i, j] = sum over r < depth of a[i, r] b[j, r], or c += …; c[i, j] is at c + i * row_step + j * column_step.
template <class T>
struct DotProduct {
  std::size_t rows, columns, depth;
  T const* a;
  std::size_t lda;
  T const* b;
  std::size_t ldb;
  T* c;
  std::size_t row_step, column_step;
  bool accumulate = false;
};

template <class T>
class DotGemm {
  using Vector = SimdVector<T>;
  using V = typename Vector::type;
  static constexpr std::size_t lanes = Vector::lanes;

 public:
  static void run(DotProduct<T> const& p) {
    std::size_t i = 0;
    for (; i + lanes <= p.rows; i += lanes)
      for (std::size_t j = 0; j < p.columns; ++j) sums<lanes>(p, i, j);
    for (; i < p.rows; ++i)
      for (std::size_t j = 0; j < p.columns; ++j) sums<1>(p, i, j);
  }

 private:
  /// A column of the result over `Rows` rows, which share the loads of b.
  template <std::size_t Rows>
  [[gnu::noinline]] static void sums(DotProduct<T> const& p, std::size_t i, std::size_t j) {
    T const *const a = p.a + i * p.lda, *const b = p.b + j * p.ldb;
    std::size_t const lda = p.lda, full = p.depth / lanes * lanes;
    V parts[lanes] = {};
    for (std::size_t r = 0; r < full; r += lanes) {
      V const right = Vector::load(b + r);
      TRIREME_UNROLL(16)
      for (std::size_t row = 0; row < Rows; ++row) parts[row] += Vector::load(a + row * lda + r) * right;
    }
    SquareTransposition<T>::shuffle(parts);
    V total = parts[0];
    TRIREME_UNROLL(16)
    for (std::size_t lane = 1; lane < lanes; ++lane) total += parts[lane];
    for (std::size_t row = 0; row < Rows; ++row) {
      T sum = total[row];
      for (std::size_t r = full; r < p.depth; ++r) sum += a[row * lda + r] * b[r];
      T& to = p.c[(i + row) * p.row_step + j * p.column_step];
      to = p.accumulate ? to + sum : sum;
    }
  }
};

}  // namespace trireme::detail
