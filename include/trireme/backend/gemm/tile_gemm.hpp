/// Matrix products whose operands stay in a core's caches: register tiles, which pack only operands that are slow to
/// read.
///
/// Faster than a BLAS for the sizes of small layers, and for the rows of convolutions, whose operands overlap.
#pragma once

#include <algorithm>
#include <cstddef>
#include <utility>

#include "trireme/backend/gemm/pack.hpp"
#include "trireme/backend/gemm/tile_operand.hpp"
#include "trireme/backend/simd/simd.hpp"
#include "trireme/backend/simd/simd_vector.hpp"

namespace trireme::detail {

/// c (m, n) = a (m, k) b (k, n), or c += …
///
/// b has contiguous rows, or columns if `transpose_b`. Rows of c may overlap when accumulating: they are added one
/// after the other.
template <class T, class Operand = StridedOperand<T>>
struct TileProduct {
  std::size_t m, n;
  Operand a;
  T const* b;
  std::size_t ldb;
  T* c;
  std::size_t ldc;
  bool accumulate = false;
  bool transpose_b = false;
};

template <class T>
class TileGemm {
  using Vector = SimdVector<T>;
  using V = typename Vector::type;
  static constexpr std::size_t lanes = Vector::lanes;
  /// Rows of a tile that is `vectors` wide: the accumulators, a row of b and an element of a fit the registers.
  static constexpr std::size_t tile_rows(std::size_t vectors) {
    if (simd_registers >= 32) return vectors == 4 ? 6 : vectors == 3 ? 8 : 12;
    return vectors == 2 ? 6 : 12;
  }
  static constexpr std::size_t widest = simd_registers >= 32 ? 4 : 2;

  /// A panel of b of this depth shares the first cache with the rows of a that it is multiplied by; or the second,
  /// which is large and near where vectors are as long as a cache line.
  static constexpr std::size_t block_depth = (lanes * sizeof(T) == 64 ? 4096 : 1024) / sizeof(T);
  /// Rows of a transposed a that are packed at once: with that depth they take a part of the second cache. If panels of
  /// b are copied for each such block too, as many rows as so many bytes hold: panels of four long vectors need a so
  /// slowly that the third cache will do.
  static constexpr std::size_t block_rows = 96;
  static constexpr std::size_t block_bytes = lanes * sizeof(T) == 64 ? std::size_t{2} << 20 : 0;
  static constexpr std::size_t first_cache = std::size_t{32} << 10;

 public:
  template <class Operand = StridedOperand<T>>
  static void run(TileProduct<T, Operand> const& p) {
    std::size_t const depth = p.a.depth();
    if (p.a.segments != 1 || depth <= block_depth + block_depth / 2) {
      run_block(p);
      return;
    }
    TileProduct<T, Operand> block = p;
    std::size_t const blocks = (depth + block_depth - 1) / block_depth;
    for (std::size_t s = 0, k = 0; s < blocks; ++s) {
      std::size_t const count = depth / blocks + (s < depth % blocks ? 1 : 0);
      block.a = p.a.between(k, count);
      block.b = p.b + k * (p.transpose_b ? 1 : p.ldb);
      block.accumulate = p.accumulate || s > 0;
      run_block(block);
      k += count;
    }
  }

 private:
  /// A panel of b: `vectors` vectors wide, with `columns` numbers in use.
  struct Panel {
    std::size_t vectors, columns;
  };
  static Panel next_panel(std::size_t left) {
    std::size_t const most = widest * lanes;
    if (left >= most) {
      // One panel of three vectors, where that leaves a multiple of four.
      if (widest == 4 && left < 2 * most && left % most >= 3 * lanes && left % most < most && left > most)
        return {3, 3 * lanes};
      return {widest, most};
    }
    return {(left + lanes - 1) / lanes, left};
  }

  template <class Operand>
  static void run_block(TileProduct<T, Operand> const& p) {
    std::size_t const depth = p.a.depth(), reach = depth * p.ldb * sizeof(T);
    bool const in_place = !p.transpose_b && p.n % lanes == 0;
    // Short products write more than they read: c goes row after row, while all of b stays in the first cache.
    if (in_place && 2 * reach <= first_cache && p.m * p.n > 4 * depth * p.n) {
      by_rows(p);
      return;
    }
    if constexpr (requires { p.a.reads_badly(p.m, first_cache); })
      if (p.n > widest * lanes && p.a.reads_badly(p.m, 4 * first_cache)) return by_packed_rows(p);
    by_panels(p);
  }

  template <class Operand>
  static void by_packed_rows(TileProduct<T, Operand> const& p) {
    std::size_t const depth = p.a.depth(), pitch = packed_pitch<T>(depth);
    std::size_t const copied_rows = std::max(block_rows, block_bytes / (pitch * sizeof(T)));
    for_tiles(p.m, copies_panels(p) ? copied_rows : block_rows, [&](std::size_t i, std::size_t m) {
      T* const packed = pack_buffer<T, 1>(m * pitch);
      p.a.from_row(i).pack(m, packed);
      by_panels(TileProduct<T>{.m = m,
                               .n = p.n,
                               .a = {.first = packed, .row_stride = pitch, .step = 1, .segment = depth},
                               .b = p.b,
                               .ldb = p.ldb,
                               .c = p.c + i * p.ldc,
                               .ldc = p.ldc,
                               .accumulate = p.accumulate,
                               .transpose_b = p.transpose_b});
    });
  }

  template <class Operand>
  static void by_rows(TileProduct<T, Operand> const& p) {
    constexpr std::size_t most = tile_rows(widest);
    for_tiles(p.m, most, [&](std::size_t i, std::size_t height) {
      p.a.ask(i + height, std::min(height, p.m - i - height));
      for (std::size_t j = 0; j < p.n;) {
        Panel const panel = next_panel(p.n - j);
        run_tile(panel.vectors, height, p.a, i, p.b + j, p.ldb, p.c + i * p.ldc + j, p.ldc, p.accumulate);
        j += panel.columns;
      }
    });
  }

  /// True if all panels of b are copied. Rows of b at a stride that is a power of two fall into few sets of the cache:
  /// copied if they are read often, and unless they fill a good part of their distance.
  template <class Operand>
  static bool copies_panels(TileProduct<T, Operand> const& p) {
    return p.transpose_b || (p.ldb > 2 * widest * lanes && p.m >= 8 * tile_rows(widest) &&
                             2 * p.a.depth() * p.ldb * sizeof(T) > first_cache);
  }

  /// Panels of b one after the other, each for all rows of a.
  template <class Operand>
  static void by_panels(TileProduct<T, Operand> const& p) {
    std::size_t const depth = p.a.depth();
    bool const copies = copies_panels(p);
    for (std::size_t j = 0; j < p.n;) {
      Panel const panel = next_panel(p.n - j);
      std::size_t const width = panel.vectors * lanes;
      T const* b = p.transpose_b ? p.b + j * p.ldb : p.b + j;
      std::size_t ldb = p.ldb;
      if (copies || panel.columns < width) {
        T* const packed = pack_buffer<T, 0>(depth * width);
        if (p.transpose_b)
          pack_transposed(depth, panel.columns, width, b, p.ldb, packed);
        else
          pack_rows(depth, panel.columns, width, b, p.ldb, packed);
        b = packed;
        ldb = width;
      }
      for_tiles(p.m, tile_rows(panel.vectors), [&](std::size_t i, std::size_t height) {
        if (j == 0) p.a.ask(i + height, std::min(height, p.m - i - height));
        T* const c = p.c + i * p.ldc + j;
        if (panel.columns == width)
          run_tile(panel.vectors, height, p.a, i, b, ldb, c, p.ldc, p.accumulate);
        else
          partial_tile(panel, height, p.a, i, b, c, p.ldc, p.accumulate);
      });
      j += panel.columns;
    }
  }

  /// A tile whose last columns lie outside of c.
  template <class Operand>
  static void partial_tile(Panel const& panel, std::size_t height, Operand const& a, std::size_t row, T const* b, T* c,
                           std::size_t ldc, bool accumulate) {
    std::size_t const width = panel.vectors * lanes;
    alignas(64) T sums[12 * widest * lanes];
    run_tile(panel.vectors, height, a, row, b, width, sums, width, false);
    for (std::size_t i = 0; i < height; ++i)
      for (std::size_t j = 0; j < panel.columns; ++j)
        c[i * ldc + j] = accumulate ? c[i * ldc + j] + sums[i * width + j] : sums[i * width + j];
  }

  /// f(first row, height) for tiles of heights as equal as possible: a tile of one or two rows waits for its additions.
  template <class F>
  static void for_tiles(std::size_t m, std::size_t most, F const& f) {
    std::size_t const tiles = (m + most - 1) / most;
    std::size_t const height = tiles > 0 ? m / tiles : 0, higher = tiles > 0 ? m % tiles : 0;
    for (std::size_t t = 0, i = 0; t < tiles; ++t) {
      std::size_t const rows = height + (t < higher ? 1 : 0);
      f(i, rows);
      i += rows;
    }
  }

  template <class Operand>
  using Tile = void (*)(Operand const&, std::size_t, T const*, std::size_t, T*, std::size_t, bool);

  template <class Operand>
  static void run_tile(std::size_t vectors, std::size_t height, Operand const& a, std::size_t row, T const* b,
                       std::size_t ldb, T* c, std::size_t ldc, bool accumulate) {
    tile_of<Operand>(vectors, height)(a, row, b, ldb, c, ldc, accumulate);
  }

  template <class Operand>
  static Tile<Operand> tile_of(std::size_t vectors, std::size_t height) {
    if (vectors == 1) return tiles<Operand, 1>(height, std::make_index_sequence<tile_rows(1)>());
    if constexpr (widest == 4) {
      if (vectors == 3) return tiles<Operand, 3>(height, std::make_index_sequence<tile_rows(3)>());
      if (vectors == 4) return tiles<Operand, 4>(height, std::make_index_sequence<tile_rows(4)>());
    }
    return tiles<Operand, 2>(height, std::make_index_sequence<tile_rows(2)>());
  }
  template <class Operand, std::size_t NV, std::size_t... I>
  static Tile<Operand> tiles(std::size_t height, std::index_sequence<I...>) {
    static constexpr Tile<Operand> of_height[] = {tile<Operand, I + 1, NV>...};
    return of_height[height - 1];
  }

  template <class Operand, std::size_t MR, std::size_t NV>
  [[gnu::noinline]] static void tile(Operand const& a, std::size_t row, T const* b, std::size_t ldb, T* c,
                                     std::size_t ldc, bool accumulate) {
    V sums[MR][NV] = {};
    std::size_t const segments = a.segments, segment = a.segment;
    for (std::size_t s = 0; s < segments; ++s) {
      auto left = a.template column<MR>(row, s);
      TRIREME_UNROLL_BY(2)
      for (std::size_t k = 0; k < segment; ++k, ++left, b += ldb) {
        V right[NV];
        TRIREME_UNROLL(4)
        for (std::size_t v = 0; v < NV; ++v) right[v] = Vector::load(b + v * lanes);
        TRIREME_UNROLL(12)
        for (std::size_t i = 0; i < MR; ++i) {
          T const factor = left[i];
          TRIREME_UNROLL(4)
          for (std::size_t v = 0; v < NV; ++v) sums[i][v] += factor * right[v];
        }
      }
    }
    if (accumulate) {
      TRIREME_UNROLL(12)
      for (std::size_t i = 0; i < MR; ++i) {
        TRIREME_UNROLL(4)
        for (std::size_t v = 0; v < NV; ++v) {
          T* const at = c + i * ldc + v * lanes;
          Vector::store(at, Vector::load(at) + sums[i][v]);
        }
      }
    } else {
      TRIREME_UNROLL(12)
      for (std::size_t i = 0; i < MR; ++i) {
        TRIREME_UNROLL(4)
        for (std::size_t v = 0; v < NV; ++v) Vector::store(c + i * ldc + v * lanes, sums[i][v]);
      }
    }
  }
};

}  // namespace trireme::detail
