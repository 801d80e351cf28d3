/// Matrix products whose operands stay in a core's caches: register tiles, and packing only of what would be read
/// badly.
///
/// Faster than a BLAS for the sizes of small layers, and for the rows of convolutions, whose operands overlap.
#pragma once

#include <algorithm>
#include <cstddef>
#include <utility>

#include "trireme/backend/pack.hpp"
#include "trireme/backend/row_gather.hpp"
#include "trireme/backend/simd.hpp"
#include "trireme/backend/simd_vector.hpp"

namespace trireme::detail {

/// c (m, n) = a (m, k) b (k, n), or c += …
///
/// Element (i, s * segment + r) of a is at a + i * row_stride + s * segment_stride + r * step: so a may be transposed,
/// and may be the patches of an image without being unfolded. b has contiguous rows, or columns if `transpose_b`. Rows
/// of c may overlap when accumulating: they are added one after the other.
template <class T>
struct TileProduct {
  std::size_t m, n;
  T const* a;
  std::size_t row_stride, step;
  std::size_t segments, segment, segment_stride;
  T const* b;
  std::size_t ldb;
  T* c;
  std::size_t ldc;
  bool accumulate = false;
  bool transpose_b = false;

  std::size_t depth() const { return segments * segment; }
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

  /// A panel of b as deep as this, and the rows of a that meet it, share the first cache.
  static constexpr std::size_t block_depth = 1024 / sizeof(T);
  /// Rows of a transposed a that are packed at once: with that depth they take a part of the second cache.
  static constexpr std::size_t block_rows = 96;
  static constexpr std::size_t first_cache = std::size_t{32} << 10;

 public:
  static void run(TileProduct<T> const& p) {
    if (p.segments != 1 || p.segment <= block_depth + block_depth / 2) {
      run_block(p);
      return;
    }
    TileProduct<T> block = p;
    std::size_t const blocks = (p.segment + block_depth - 1) / block_depth;
    for (std::size_t s = 0, k = 0; s < blocks; ++s, k += block.segment) {
      block.segment = p.segment / blocks + (s < p.segment % blocks ? 1 : 0);
      block.a = p.a + k * p.step;
      block.b = p.b + k * (p.transpose_b ? 1 : p.ldb);
      block.accumulate = p.accumulate || s > 0;
      run_block(block);
    }
  }

 private:
  /// A panel of b: `vectors` vectors wide, of which `columns` numbers count.
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

  static void run_block(TileProduct<T> const& p) {
    std::size_t const reach = p.depth() * p.ldb * sizeof(T);
    bool const in_place = !p.transpose_b && p.n % lanes == 0;
    // Short products write more than they read: c goes row after row, while all of b stays in the first cache.
    if (in_place && 2 * reach <= first_cache && p.m * p.n > 4 * p.depth() * p.n) {
      by_rows(p);
      return;
    }
    bool const scattered = p.row_stride == 1 && p.segments == 1 && p.step * p.depth() * sizeof(T) > 4 * first_cache &&
                           p.n > widest * lanes;
    if (!scattered) {
      by_panels(p);
      return;
    }
    TileProduct<T> part = p;
    for (std::size_t i = 0; i < p.m; i += part.m) {
      part.m = std::min(p.m - i, block_rows);
      T* const packed = pack_buffer<T, 1>(part.m * p.depth());
      pack_left(part.m, p.depth(), p.a + i, p.step, packed);
      part.a = packed;
      part.row_stride = p.depth();
      part.step = 1;
      part.c = p.c + i * p.ldc;
      by_panels(part);
    }
  }

  static void by_rows(TileProduct<T> const& p) {
    constexpr std::size_t most = tile_rows(widest);
    for_tiles(p.m, most, [&](std::size_t i, std::size_t height) {
      for (std::size_t j = 0; j < p.n;) {
        Panel const panel = next_panel(p.n - j);
        run_tile(panel.vectors, height, p, p.a + i * p.row_stride, p.b + j, p.ldb, p.c + i * p.ldc + j, p.ldc,
                 p.accumulate);
        j += panel.columns;
      }
    });
  }

  /// Panels of b one after the other, each for all rows of a.
  static void by_panels(TileProduct<T> const& p) {
    // Rows of b at a stride that is a power of two fall into few sets of the cache: copied if they are read often.
    bool const copies = p.m >= 8 * tile_rows(widest) && 2 * p.depth() * p.ldb * sizeof(T) > first_cache;
    for (std::size_t j = 0; j < p.n;) {
      Panel const panel = next_panel(p.n - j);
      std::size_t const width = panel.vectors * lanes;
      T const* b = p.transpose_b ? p.b + j * p.ldb : p.b + j;
      std::size_t ldb = p.ldb;
      if (p.transpose_b || copies || panel.columns < width) {
        T* const packed = pack_buffer<T, 0>(p.depth() * width);
        if (p.transpose_b)
          pack_transposed(p.depth(), panel.columns, width, b, p.ldb, packed);
        else
          pack_rows(p.depth(), panel.columns, width, b, p.ldb, packed);
        b = packed;
        ldb = width;
      }
      for_tiles(p.m, tile_rows(panel.vectors), [&](std::size_t i, std::size_t height) {
        T const* const a = p.a + i * p.row_stride;
        T* const c = p.c + i * p.ldc + j;
        if (panel.columns == width)
          run_tile(panel.vectors, height, p, a, b, ldb, c, p.ldc, p.accumulate);
        else
          partial_tile(panel, height, p, a, b, c);
      });
      j += panel.columns;
    }
  }

  /// A tile whose last columns lie outside of c.
  static void partial_tile(Panel const& panel, std::size_t height, TileProduct<T> const& p, T const* a, T const* b,
                           T* c) {
    std::size_t const width = panel.vectors * lanes;
    alignas(64) T sums[12 * widest * lanes];
    run_tile(panel.vectors, height, p, a, b, width, sums, width, false);
    for (std::size_t i = 0; i < height; ++i)
      for (std::size_t j = 0; j < panel.columns; ++j)
        c[i * p.ldc + j] = p.accumulate ? c[i * p.ldc + j] + sums[i * width + j] : sums[i * width + j];
  }

  /// f(first row, height) for tiles of as equal heights as can be: a tile of one or two rows waits for its additions.
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

  using Tile = void (*)(TileProduct<T> const&, T const*, T const*, std::size_t, T*, std::size_t, bool);

  static void run_tile(std::size_t vectors, std::size_t height, TileProduct<T> const& p, T const* a, T const* b,
                       std::size_t ldb, T* c, std::size_t ldc, bool accumulate) {
    RowGather<T>::further();
    tile_of(vectors, height)(p, a, b, ldb, c, ldc, accumulate);
  }

  static Tile tile_of(std::size_t vectors, std::size_t height) {
    if (vectors == 1) return tiles<1>(height, std::make_index_sequence<tile_rows(1)>());
    if constexpr (widest == 4) {
      if (vectors == 3) return tiles<3>(height, std::make_index_sequence<tile_rows(3)>());
      if (vectors == 4) return tiles<4>(height, std::make_index_sequence<tile_rows(4)>());
    }
    return tiles<2>(height, std::make_index_sequence<tile_rows(2)>());
  }
  template <std::size_t NV, std::size_t... I>
  static Tile tiles(std::size_t height, std::index_sequence<I...>) {
    static constexpr Tile of_height[] = {tile<I + 1, NV>...};
    return of_height[height - 1];
  }

  template <std::size_t MR, std::size_t NV>
  [[gnu::noinline]] static void tile(TileProduct<T> const& p, T const* a, T const* b, std::size_t ldb, T* c,
                                     std::size_t ldc, bool accumulate) {
    V sums[MR][NV] = {};
    std::size_t const row_stride = p.row_stride, step = p.step, segment = p.segment;
    for (std::size_t s = 0; s < p.segments; ++s) {
      T const* left = a + s * p.segment_stride;
      for (std::size_t k = 0; k < segment; ++k, left += step, b += ldb) {
        V right[NV];
        TRIREME_UNROLL(4)
        for (std::size_t v = 0; v < NV; ++v) right[v] = Vector::load(b + v * lanes);
        TRIREME_UNROLL(12)
        for (std::size_t i = 0; i < MR; ++i) {
          T const factor = left[i * row_stride];
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
