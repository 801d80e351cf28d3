/// A matrix product, or many of one shape, as data: the argument of every backend's gemm.
#pragma once

#include <cstddef>

#include <Kokkos_Macros.hpp>

namespace trireme {

/// c (m, n) = op(a) (m, k) op(b) (k, n), or c += …; row-major, `ld` is the distance between rows as stored.
template <class T>
struct Product {
  std::size_t m, n, k;
  T const* a;
  std::size_t lda;
  T const* b;
  std::size_t ldb;
  T* c;
  std::size_t ldc;
  bool transpose_a = false;
  bool transpose_b = false;
  bool accumulate = false;
  /// Pointers to the stored rows of a, if a is null: these may be scattered. Only on hosts.
  T const* const* a_rows = nullptr;
  std::size_t a_first = 0;  ///< index of the first number used of such a row

  /// Makes it the product for the rows of op(a) from i on. The caller sets `m` and `c`.
  void skip_left_rows(std::size_t i) {
    if (!a_rows)
      a += transpose_a ? i : i * lda;
    else if (transpose_a)
      a_first += i;
    else
      a_rows += i;
  }

  /// Makes it the product from column i of op(a) and row i of op(b) on. The caller sets `k`.
  void skip_depth(std::size_t i) {
    if (!a_rows)
      a += transpose_a ? i * lda : i;
    else if (transpose_a)
      a_rows += i;
    else
      a_first += i;
    b += transpose_b ? i : i * ldb;
  }
};

/// Distances of the operands of one product from those of the product before it.
struct BatchStrides {
  std::size_t a, b, c;
};

/// `count` groups of `group` products.
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
    p.a += outer * groups.a + inner * within.a;
    p.b += outer * groups.b + inner * within.b;
    p.c += outer * groups.c + inner * within.c;
    return p;
  }
};

}  // namespace trireme
