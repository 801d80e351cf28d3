/// The product of one thread: register tiles while b stays in the cache; beyond it one pass over b for few rows, and
/// the BLAS for many.
#pragma once

#include <cstddef>

#include "trireme/backend/dot_gemm.hpp"
#include "trireme/backend/host_blas.hpp"
#include "trireme/backend/product.hpp"
#include "trireme/backend/thin_gemm.hpp"
#include "trireme/backend/tile_gemm.hpp"

namespace trireme::detail {

/// Beyond this size of b, packing as a BLAS does it pays,
inline constexpr std::size_t tile_gemm_limit = std::size_t{1} << 20;
/// unless the product is so shallow that writing the result is the work.
inline constexpr std::size_t shallow_gemm_limit = 8;
/// Beyond this size of b a second-level cache holds it only in part, and columns of tiles read it badly.
inline constexpr std::size_t thin_gemm_limit = std::size_t{256} << 10;

template <class T>
constexpr std::size_t right_bytes(Product<T> const& p) {
  return p.k * p.n * sizeof(T);
}

template <class T>
constexpr bool by_tiles(Product<T> const& p) {
  return has_simd && p.k > 0 && (right_bytes(p) <= tile_gemm_limit || p.k <= shallow_gemm_limit);
}

/// Whether few rows meet a b that is to be read once.
template <class T>
constexpr bool is_thin(Product<T> const& p) {
  return has_simd && !p.transpose_b && p.m > 0 && p.m <= ThinGemm<T>::most_rows && p.k > shallow_gemm_limit &&
         right_bytes(p) > thin_gemm_limit;
}

/// Whether sums along rows of a and columns of b are what to do: for a result with few columns from rows that are
/// contiguous, or with few rows from columns that are.
template <class T>
constexpr bool by_dots(Product<T> const& p) {
  constexpr std::size_t lanes = SimdVector<T>::lanes;
  if (!has_simd || p.transpose_a || p.k < lanes) return false;
  std::size_t const few_rows = right_bytes(p) > tile_gemm_limit ? lanes : lanes / 2;
  return (p.n < lanes / 2 && p.m >= lanes) || (p.transpose_b && p.m <= few_rows && p.n >= lanes);
}

/// Sums along the rows of a and columns of b, which have to be contiguous or few.
template <class T>
void dot_gemm(Product<T> const& p) {
  T const* columns = p.b;
  std::size_t ld = p.ldb;
  if (!p.transpose_b) {
    T* const packed = pack_buffer<T, 0>(p.n * p.k);
    pack_left(p.n, p.k, p.b, p.ldb, packed);
    columns = packed;
    ld = p.k;
  }
  if (p.n < p.m)
    DotGemm<T>::run({p.m, p.n, p.k, p.a, p.lda, columns, ld, p.c, p.ldc, 1, p.accumulate});
  else
    DotGemm<T>::run({p.n, p.m, p.k, columns, ld, p.a, p.lda, p.c, 1, p.ldc, p.accumulate});
}

template <class T>
void cache_gemm(Product<T> const& p) {
  if (by_dots(p)) return dot_gemm(p);
  if (is_thin(p)) return ThinGemm<T>::run(p);
  if (!by_tiles(p)) return host_blas_gemm(p);
  if (p.transpose_a && p.n == 1 && p.ldc == 1 &&
      p.m >= SimdVector<T>::lanes) {  // a column from columns: the row that it is
    TileGemm<T>::run({.m = 1,
                      .n = p.m,
                      .a = p.b,
                      .row_stride = 0,
                      .step = p.transpose_b ? 1 : p.ldb,
                      .segments = 1,
                      .segment = p.k,
                      .segment_stride = 0,
                      .b = p.a,
                      .ldb = p.lda,
                      .c = p.c,
                      .ldc = p.m,
                      .accumulate = p.accumulate});
    return;
  }
  TileGemm<T>::run({.m = p.m,
                    .n = p.n,
                    .a = p.a,
                    .row_stride = p.transpose_a ? 1 : p.lda,
                    .step = p.transpose_a ? p.lda : 1,
                    .segments = 1,
                    .segment = p.k,
                    .segment_stride = 0,
                    .b = p.b,
                    .ldb = p.ldb,
                    .c = p.c,
                    .ldc = p.ldc,
                    .accumulate = p.accumulate,
                    // a single column is a row
                    .transpose_b = p.transpose_b && !(p.k == 1 && p.ldb == 1)});
}

}  // namespace trireme::detail
