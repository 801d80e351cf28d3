/// Matrix products on the host through the BLAS that the program links.
#pragma once

#include <algorithm>
#include <limits>

#include "trireme/backend/gemm/product.hpp"
#include "trireme/core/error.hpp"
#include "trireme/core/text.hpp"
#include "trireme/tensor/blas.hpp"

namespace trireme::detail {

inline int blas_int(std::size_t n) {
  if (n > static_cast<std::size_t>(std::numeric_limits<int>::max()))
    throw ValueError(formatted("a matrix extent of {} is more than the BLAS can take", n));
  return static_cast<int>(n);
}

template <class T>
void host_blas_gemm(Product<T> const& p) {
  if (p.m == 0 || p.n == 0) return;
  if (p.k == 0) {  // BLAS libraries differ on whether they clear c then
    if (!p.accumulate)
      for (std::size_t i = 0; i < p.m; ++i) std::fill_n(p.c + i * p.ldc, p.n, T{0});
    return;
  }
  auto const transpose_a = p.transpose_a ? CblasTrans : CblasNoTrans;
  auto const transpose_b = p.transpose_b ? CblasTrans : CblasNoTrans;
  int const m = blas_int(p.m), n = blas_int(p.n), k = blas_int(p.k);
  int const lda = blas_int(p.lda), ldb = blas_int(p.ldb), ldc = blas_int(p.ldc);
  if constexpr (sizeof(T) == sizeof(float))
    cblas_sgemm(CblasRowMajor, transpose_a, transpose_b, m, n, k, 1.0f, p.a.block(), lda, p.b, ldb,
                p.accumulate ? 1.0f : 0.0f, p.c, ldc);
  else
    cblas_dgemm(CblasRowMajor, transpose_a, transpose_b, m, n, k, 1.0, p.a.block(), lda, p.b, ldb,
                p.accumulate ? 1.0 : 0.0, p.c, ldc);
}

}  // namespace trireme::detail
