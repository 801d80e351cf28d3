/// The gradient of a layer's weights: into the arena, or block by block to a listener that takes it so.
#pragma once

#include <algorithm>
#include <cstddef>

#include <Kokkos_Core.hpp>

#include "trireme/backend/execution/storing_context.hpp"
#include "trireme/backend/gemm/cache_gemm.hpp"
#include "trireme/backend/gemm/pack.hpp"
#include "trireme/backend/gemm/product.hpp"
#include "trireme/layers/call.hpp"

namespace trireme {

namespace kernels {

/// One block of a product whose result goes to a listener. Blocks are so small that one stays in a core's cache until
/// it has been taken, and so wide that memory is read along rows.
template <class T>
struct GradientBlock {
  static constexpr std::size_t most_columns = 4096 / sizeof(T), most_elements = 12 * most_columns;

  Product<T> whole;
  GradientListener* listener;
  std::size_t columns, rows, column_blocks;

  GradientBlock(Product<T> const& product, GradientListener* to)
      : whole(product),
        listener(to),
        columns(std::clamp(product.n, std::size_t{1}, most_columns)),
        rows(most_elements / columns),
        column_blocks((product.n + columns - 1) / columns) {}

  std::size_t count() const { return (whole.m + rows - 1) / rows * column_blocks; }

  void operator()(std::size_t block) const {
    std::size_t const i = block / column_blocks * rows, j = block % column_blocks * columns;
    Product<T> part = whole;
    part.m = std::min(rows, whole.m - i);
    part.n = std::min(columns, whole.n - j);
    part.skip_left_rows(i);
    part.b += whole.transpose_b ? j * whole.ldb : j;
    part.c = detail::pack_buffer<T, 2>(part.m * part.n);
    part.ldc = part.n;
    detail::cache_gemm(part);
    T const* const at = whole.c + i * whole.ldc + j;
    if (part.n == whole.ldc) return listener->take(at, part.c, part.m * part.n);
    for (std::size_t row = 0; row < part.m; ++row) listener->take(at + row * whole.ldc, part.c + row * part.n, part.n);
  }
};

}  // namespace kernels

/// True if a layer may offer products to its listener: under the parallelism over samples, where its input and its
/// workspace stay as they are until a step ends, unless outputs are kept in another type.
template <class Context>
inline constexpr bool shares_products = Context::owns_rows && !StoresOutputs<Context>;

/// True if the threads of a step compute a gradient (m, n) faster together, for `rows` rows over all threads: each then
/// reads all rows of n numbers, instead of storing and adding up gradients.
constexpr bool pays_to_share(std::size_t m, std::size_t n, std::size_t rows) { return m * n >= 4096 && 2 * rows <= m; }

/// Rows of a batch up to which blocks pay: beyond them the products cost more than the gradient's way through memory,
/// and a large product is faster as a whole.
inline constexpr std::size_t gradient_block_rows = 64;

/// product.c, which lies in the gradient arena, becomes the product or is taken by the listener (may be null).
template <class Context, class T>
void weight_gradient(Context& context, Product<T> const& product, GradientListener* listener) {
  constexpr bool on_host =
      Kokkos::SpaceAccessibility<Kokkos::DefaultHostExecutionSpace, typename Context::memory_space>::accessible;
  if constexpr (on_host) {
    if (listener && product.k <= gradient_block_rows && detail::by_tiles(product) &&
        listener->takes(product.c, product.m * product.n)) {
      kernels::GradientBlock<T> const blocks(product, listener);
      return context.for_rows("trireme::gradient_blocks", blocks.count(), blocks);
    }
  }
  context.gemm(product);
}

}  // namespace trireme
