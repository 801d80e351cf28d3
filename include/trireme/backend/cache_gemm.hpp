/// The product of one thread: register tiles while b stays in the cache, the BLAS beyond.
#pragma once

#include <cstddef>
#include <vector>

#include "trireme/backend/host_blas.hpp"
#include "trireme/backend/product.hpp"
#include "trireme/backend/tile_gemm.hpp"

namespace trireme::detail {

/// Beyond this size of b, packing as a BLAS does it pays.
inline constexpr std::size_t tile_gemm_limit = std::size_t{1} << 20;

template <class T>
void cache_gemm(Product<T> const& p) {
  if (!has_simd || p.k * p.n * sizeof(T) > tile_gemm_limit || p.k == 0) {
    host_blas_gemm(p);
    return;
  }
  TileProduct<T> tiles{.m = p.m,
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
                       .accumulate = p.accumulate};
  if (p.transpose_b) {
    thread_local std::vector<T> transposed;
    if (transposed.size() < p.k * p.n) transposed.resize(p.k * p.n);
    transpose(p.n, p.k, p.b, p.ldb, transposed.data(), p.n);
    tiles.b = transposed.data();
    tiles.ldb = p.n;
  }
  TileGemm<T>::run(tiles);
}

}  // namespace trireme::detail
