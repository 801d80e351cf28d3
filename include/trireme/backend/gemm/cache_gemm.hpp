/// The product of one thread: register tiles while b stays in the cache; beyond it one pass over b for few rows, and
/// the BLAS for many.
#pragma once

#include <algorithm>
#include <cstddef>
#include <type_traits>

#include "trireme/backend/gemm/dot_gemm.hpp"
#include "trireme/backend/gemm/host_blas.hpp"
#include "trireme/backend/gemm/pack.hpp"
#include "trireme/backend/gemm/product.hpp"
#include "trireme/backend/gemm/thin_gemm.hpp"
#include "trireme/backend/gemm/tile_gemm.hpp"
#include "trireme/core/linkage.hpp"

namespace trireme::detail {

/// Bytes of b beyond which packing as in a BLAS pays,
inline constexpr std::size_t tile_gemm_limit = std::size_t{1} << 20;
/// unless the product has at most this depth: then writing the result dominates;
inline constexpr std::size_t shallow_gemm_limit = 8;
/// or has so many rows that panels of b four long vectors wide pay, and so few that they are copied a few times.
template <class T>
constexpr bool reads_panels_once(Product<T> const& p) {
  return SimdVector<T>::lanes * sizeof(T) == 64 && p.m >= 48 && p.m <= 1024;
}
/// Bytes of b beyond which a second-level cache holds it only in part, and columns of tiles read it badly.
inline constexpr std::size_t thin_gemm_limit = std::size_t{256} << 10;

template <class T>
constexpr std::size_t right_bytes(Product<T> const& p) {
  return p.k * p.n * sizeof(T);
}

template <class T>
constexpr bool by_tiles(Product<T> const& p) {
  return has_simd && p.k > 0 &&
         (right_bytes(p) <= tile_gemm_limit || p.k <= shallow_gemm_limit || reads_panels_once(p));
}

/// True if a product has few rows and should read b once.
template <class T>
constexpr bool is_thin(Product<T> const& p) {
  return has_simd && !p.transpose_b && p.m > 0 && p.m <= ThinGemm<T>::most_rows && p.k > shallow_gemm_limit &&
         right_bytes(p) > thin_gemm_limit;
}

/// True if sums along rows of a and columns of b are fastest: for a result with few columns from contiguous rows, or
/// with few rows from contiguous columns.
template <class T>
constexpr bool by_dots(Product<T> const& p) {
  constexpr std::size_t lanes = SimdVector<T>::lanes;
  if (!has_simd || p.transpose_a || p.k < lanes) return false;
  std::size_t const few_rows = right_bytes(p) > tile_gemm_limit ? lanes : lanes / 2;
  return (p.n < lanes / 2 && p.m >= lanes) || (p.transpose_b && p.m <= few_rows && p.n >= lanes);
}

/// Sums along the rows of a and columns of b, which must be contiguous or few.
template <class T>
void dot_gemm(Product<T> const& p) {
  T const* columns = p.b;
  std::size_t ld = p.ldb;
  if (!p.transpose_b) {
    T* const packed = pack_buffer<T, 0>(p.n * p.k);
    pack_left(p.n, p.k, [&p](std::size_t k) { return p.b + k * p.ldb; }, packed, p.k);
    columns = packed;
    ld = p.k;
  }
  if (p.n < p.m)
    DotGemm<T>::run({p.m, p.n, p.k, p.a.block(), p.lda, columns, ld, p.c, p.ldc, 1, p.accumulate});
  else
    DotGemm<T>::run({p.n, p.m, p.k, columns, ld, p.a.block(), p.lda, p.c, 1, p.ldc, p.accumulate});
}

/// True if a product reads scattered rows of a as fast as contiguous ones.
template <class T>
constexpr bool reads_scattered_rows(Product<T> const& p) {
  return by_tiles(p) && !by_dots(p) && !is_thin(p);
}

template <class T>
void cache_gemm(Product<T> const& p);

/// Gathers the rows of a first if the product does not use register tiles.
template <class T>
void scattered_gemm(Product<T> const& p) {
  if constexpr (has_simd) {
    auto const run = [&p](auto const& a) {
      TileGemm<T>::run(
          TileProduct<T, std::decay_t<decltype(a)>>{p.m, p.n, a, p.b, p.ldb, p.c, p.ldc, p.accumulate, p.transpose_b});
    };
    if (reads_scattered_rows(p))
      return p.transpose_a ? run(TransposedScatteredOperand<T>{p.a.rows(), p.a.first(), p.k})
                           : run(ScatteredOperand<T>{p.a.rows(), p.a.first(), p.k});
  }
  std::size_t const rows = p.transpose_a ? p.k : p.m, columns = p.transpose_a ? p.m : p.k;
  T* const together = pack_buffer<T, 3>(rows * columns);
  gather_rows(p.a, rows, columns, together);
  Product<T> whole = p;
  whole.a = together;
  whole.lda = columns;
  cache_gemm(whole);
}

template <class T>
void cache_gemm(Product<T> const& p) {
  if (p.a.is_scattered()) return scattered_gemm(p);
  if (by_dots(p)) return dot_gemm(p);
  if (is_thin(p)) return ThinGemm<T>::run(p);
  if (!by_tiles(p)) return host_blas_gemm(p);
  if (p.transpose_a && p.n == 1 && p.ldc == 1 &&
      p.m >= SimdVector<T>::lanes) {  // a column from columns: as its transposed row
    TileGemm<T>::run({.m = 1,
                      .n = p.m,
                      .a = {.first = p.b, .row_stride = 0, .step = p.transpose_b ? 1 : p.ldb, .segment = p.k},
                      .b = p.a.block(),
                      .ldb = p.lda,
                      .c = p.c,
                      .ldc = p.m,
                      .accumulate = p.accumulate});
    return;
  }
  TileGemm<T>::run({.m = p.m,
                    .n = p.n,
                    .a = {.first = p.a.block(),
                          .row_stride = p.transpose_a ? 1 : p.lda,
                          .step = p.transpose_a ? p.lda : 1,
                          .segment = p.k},
                    .b = p.b,
                    .ldb = p.ldb,
                    .c = p.c,
                    .ldc = p.ldc,
                    .accumulate = p.accumulate,
                    // a single column is a row
                    .transpose_b = p.transpose_b && !(p.k == 1 && p.ldb == 1)});
}

/// Products in T, which trireme::compiled instantiates. EXTERN is `extern`, or empty in the library.
#define TRIREME_PRODUCTS_OF(EXTERN, T)                    \
  EXTERN template void cache_gemm(Product<T> const&);     \
  EXTERN template void scattered_gemm(Product<T> const&); \
  EXTERN template void TileGemm<T>::run(TileProduct<T> const&);

#ifdef TRIREME_COMPILED
TRIREME_PRODUCTS_OF(extern, float)
TRIREME_PRODUCTS_OF(extern, double)
#endif

}  // namespace trireme::detail
