/// A matrix product as data: what every backend's gemm is asked for.
#pragma once

#include <cstddef>

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
};

}  // namespace trireme
