/// The product of one thread: register tiles while b stays in the cache, the BLAS beyond.
#pragma once

#include <cstddef>

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
                    .transpose_b = p.transpose_b});
}

}  // namespace trireme::detail
