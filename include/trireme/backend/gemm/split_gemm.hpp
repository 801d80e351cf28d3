/// A large product on all threads of a host space: each computes a block of its own, or the part that its rows of the
/// weights add.
///
/// Threads that a BLAS starts wait for each other several times a product, and those of OpenBLAS's pthread build
/// compete with Kokkos' threads. Blocks synchronize only at the end, and are as fast with either build.
#pragma once

#include <algorithm>
#include <cstddef>

#include <Kokkos_Core.hpp>

#include "trireme/backend/gemm/cache_gemm.hpp"
#include "trireme/backend/gemm/host_blas.hpp"
#include "trireme/backend/gemm/pack.hpp"
#include "trireme/backend/gemm/product.hpp"
#include "trireme/backend/simd/simd.hpp"
#include "trireme/backend/threads/host_loop.hpp"
#include "trireme/backend/threads/one_blas_thread.hpp"
#include "trireme/core/row_range.hpp"

namespace trireme::detail {

/// Below this many multiplications one thread is enough.
inline constexpr std::size_t split_gemm_limit = std::size_t{1} << 17;

/// The threads that a product is worth, of `threads`.
template <class T>
constexpr std::size_t threads_for_product(std::size_t threads, Product<T> const& p) {
  return p.m * p.n * p.k < split_gemm_limit ? 1 : threads;
}

/// The part [begin, end) of an extent of weights that belongs to one of `count` threads, in multiples of the kernels'
/// unit. All products with a matrix of weights (k, n) divide k this way where rows are few: forward, the input's
/// gradient, and the weights' own with their update. A thread then finds its rows of the weights in its core's cache,
/// since no other thread reads or writes them.
constexpr RowRange owned_range(std::size_t extent, std::size_t index, std::size_t count) {
  constexpr std::size_t unit = 16;
  std::size_t const units = (extent + unit - 1) / unit;
  RowRange const own = row_range(units, index, count);
  return {std::min(extent, own.begin * unit), std::min(extent, own.end * unit)};
}

/// Bytes of weights beyond which the caches of a few cores do not hold them from step to step.
inline constexpr std::size_t owned_weights_limit = std::size_t{4} << 20;

/// True if threads divide the depth of a product x W: partial results of few rows cost less than weights that travel
/// between cores, written by one and read by all.
template <class T>
constexpr bool by_depth(Product<T> const& p) {
  return !p.transpose_a && !p.transpose_b && 4 * p.m <= p.k && right_bytes(p) <= owned_weights_limit;
}

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

  void operator()(std::size_t block) const {
    RowRange const i = owned_range(whole.m, block / grid.columns, grid.rows),
                   j = owned_range(whole.n, block % grid.columns, grid.columns);
    Product<T> part = whole;
    part.m = i.end - i.begin;
    part.n = j.end - j.begin;
    part.skip_left_rows(i.begin);
    part.b += whole.transpose_b ? j.begin * whole.ldb : j.begin;
    part.c += i.begin * whole.ldc + j.begin;
    if (part.m > 0 && part.n > 0) cache_gemm(part);
  }
};

/// One thread's rows of b times its columns of a: the first into c, others into partial results (m, n).
template <class T>
struct DepthBlocks {
  Product<T> whole;
  std::size_t threads;
  T* partial;

  void operator()(std::size_t thread) const {
    RowRange const own = owned_range(whole.k, thread, threads);
    Product<T> part = whole;
    part.k = own.end - own.begin;
    part.skip_depth(own.begin);
    if (thread > 0) {
      part.c = partial + (thread - 1) * whole.m * whole.n;
      part.ldc = whole.n;
      part.accumulate = false;
    }
    cache_gemm(part);
  }
};

/// A row of c with the partial results added.
template <class T>
struct AddPartialRow {
  Product<T> whole;
  std::size_t partials;
  T const* partial;

  void operator()(std::size_t i) const {
    T* const c = whole.c + i * whole.ldc;
    for (std::size_t p = 0; p < partials; ++p) {
      T const* const row = partial + (p * whole.m + i) * whole.n;
      TRIREME_SIMD
      for (std::size_t j = 0; j < whole.n; ++j) c[j] += row[j];
    }
  }
};

template <class Space, class T>
void split_gemm(Space const& space, std::size_t threads, Product<T> const& product) {
  if (threads_for_product(threads, product) == 1) return cache_gemm(product);
  // Sizes too large for the BLAS must throw here, outside of the region.
  blas_int(std::max({product.m, product.n, product.k, product.lda, product.ldb, product.ldc}));
  OneBlasThread const one;
  if (!by_depth(product)) {
    host_loop(space, threads, "trireme::gemm", threads,
              GemmBlocks<T>{product, block_grid(product.m, product.n, threads)});
    return;
  }
  T* const partial = pack_buffer<T, 4>((threads - 1) * product.m * product.n);
  host_loop(space, threads, "trireme::gemm", threads, DepthBlocks<T>{product, threads, partial});
  std::size_t const adders = threads_for(threads, threads * product.m * product.n);
  host_loop(space, adders, "trireme::gemm_sum", product.m, AddPartialRow<T>{product, threads - 1, partial});
}

#ifdef TRIREME_COMPILED
extern template void split_gemm(Kokkos::DefaultHostExecutionSpace const&, std::size_t, Product<float> const&);
extern template void split_gemm(Kokkos::DefaultHostExecutionSpace const&, std::size_t, Product<double> const&);
#endif

}  // namespace trireme::detail
