/// A matrix product, or many of one shape, as data: the argument of every backend's gemm.
#pragma once

#include <cstddef>

#include <Kokkos_Macros.hpp>

#include "trireme/backend/gemm/rows_view.hpp"

namespace trireme {

/// c (m, n) = op(a) (m, k) op(b) (k, n), or c += …; row-major, `ld` is the distance between rows as stored.
template <class T>
struct Product {
  std::size_t m, n, k;
  RowsView<T> a;  ///< scattered rows only on hosts
  std::size_t lda;
  T const* b;
  std::size_t ldb;
  T* c;
  std::size_t ldc;
  bool transpose_a = false;
  bool transpose_b = false;
  bool accumulate = false;
  /// Operands of Mixed precision: a device with units for products of short numbers may round them to TF32, which
  /// changes no BFloat16 number, but gradients.
  bool short_operands = false;

  /// Makes it the product for the rows of op(a) from i on. The caller sets `m` and `c`.
  void skip_left_rows(std::size_t i) { a = transpose_a ? a.from_column(i) : a.from_row(i, lda); }

  /// Makes it the product from column i of op(a) and row i of op(b) on. The caller sets `k`.
  void skip_depth(std::size_t i) {
    a = transpose_a ? a.from_row(i, lda) : a.from_column(i);
    b += transpose_b ? i : i * ldb;
  }
};

/// Distances of the operands of one product from those of the product before it.
struct BatchStrides {
  std::size_t a, b, c;
};

/// `count` groups of `group` products, whose rows are not scattered.
template <class T>
struct ProductBatch {
  Product<T> first;
  std::size_t count = 1, group = 1;
  BatchStrides groups{}, within{};

  /// Number of products.
  KOKKOS_FUNCTION std::size_t size() const { return count * group; }
  KOKKOS_FUNCTION Product<T> operator[](std::size_t i) const {
    std::size_t const outer = i / group, inner = i % group;
    Product<T> p = first;
    p.a = p.a.block() + (outer * groups.a + inner * within.a);
    p.b += outer * groups.b + inner * within.b;
    p.c += outer * groups.c + inner * within.c;
    return p;
  }
};

}  // namespace trireme
