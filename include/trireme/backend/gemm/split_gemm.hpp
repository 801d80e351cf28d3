/// A large product on all threads of a host space: each computes a block of its own, with the BLAS unless the product
/// has only few rows.
///
/// Threads that a BLAS starts wait for each other several times a product, and those of OpenBLAS's pthread build
/// compete with Kokkos' threads. Blocks synchronize only at the end, and are as fast with either build.
#pragma once

#include <algorithm>
#include <cstddef>

#include "trireme/backend/gemm/cache_gemm.hpp"
#include "trireme/backend/gemm/host_blas.hpp"
#include "trireme/backend/gemm/product.hpp"
#include "trireme/backend/threads/host_loop.hpp"
#include "trireme/backend/threads/one_blas_thread.hpp"

namespace trireme::detail {

/// Below this many multiplications one thread is enough.
inline constexpr std::size_t split_gemm_limit = std::size_t{1} << 17;

/// The division of a result (m, n) into `rows` times `columns` blocks.
struct BlockGrid {
  std::size_t rows, columns;
};

/// Of the grids of so many blocks, the one whose blocks read the least of both operands.
constexpr BlockGrid block_grid(std::size_t m, std::size_t n, std::size_t blocks) {
  BlockGrid best{blocks, 1};
  for (std::size_t rows = blocks; rows > 0; --rows) {
    if (blocks % rows != 0) continue;
    std::size_t const columns = blocks / rows;
    if (m / rows + n / columns < m / best.rows + n / best.columns) best = {rows, columns};
  }
  return best;
}

template <class T>
struct GemmBlocks {
  Product<T> whole;
  BlockGrid grid;

  /// Boundaries are multiples of the kernels' unit.
  static std::size_t boundary(std::size_t extent, std::size_t index, std::size_t count) {
    constexpr std::size_t unit = 16;
    std::size_t const units = (extent + unit - 1) / unit;
    return std::min(extent, units * index / count * unit);
  }
  void operator()(std::size_t block) const {
    std::size_t const row = block / grid.columns, column = block % grid.columns;
    std::size_t const i = boundary(whole.m, row, grid.rows), j = boundary(whole.n, column, grid.columns);
    Product<T> part = whole;
    part.m = boundary(whole.m, row + 1, grid.rows) - i;
    part.n = boundary(whole.n, column + 1, grid.columns) - j;
    part.skip_left_rows(i);
    part.b += whole.transpose_b ? j * whole.ldb : j;
    part.c += i * whole.ldc + j;
    if (part.m > 0 && part.n > 0) cache_gemm(part);
  }
};

template <class Space, class T>
void split_gemm(Space const& space, std::size_t threads, Product<T> const& product) {
  if (threads == 1 || product.m * product.n * product.k < split_gemm_limit) return cache_gemm(product);
  // Sizes too large for the BLAS must throw here, outside of the region.
  blas_int(std::max({product.m, product.n, product.k, product.lda, product.ldb, product.ldc}));
  OneBlasThread const one;
  host_loop(space, threads, "trireme::gemm", threads,
            GemmBlocks<T>{product, block_grid(product.m, product.n, threads)});
}

}  // namespace trireme::detail
