/// Matrix products whose operands stay in a core's caches: register tiles, no packing but of what does not fit a
/// vector.
///
/// Faster than a BLAS for the sizes of small layers, and for the rows of convolutions, whose operands overlap.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

#include "trireme/backend/simd.hpp"
#include "trireme/backend/simd_vector.hpp"

namespace trireme::detail {

/// c (m, n) = a (m, k) b (k, n), or c += …
///
/// Element (i, s * segment + r) of a is at a + i * row_stride + s * segment_stride + r * step: so a may be transposed,
/// and may be the patches of an image without being unfolded. b has contiguous rows. Rows of c may overlap when
/// accumulating: they are added one after the other.
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
};

template <class T>
class TileGemm {
  using Vector = SimdVector<T>;
  using V = typename Vector::type;
  static constexpr std::size_t lanes = Vector::lanes;
  /// Rows of a tile that is `vectors` wide: the accumulators, a row of b and an element of a fit the registers.
  static constexpr std::size_t tile_rows(std::size_t vectors) {
    if (simd_registers >= 32) return vectors == 4 ? 6 : vectors == 3 ? 8 : 12;
    return vectors == 3 ? 4 : vectors == 2 ? 6 : 12;
  }
  static constexpr std::size_t widest = simd_registers >= 32 ? 4 : 2;

 public:
  static void run(TileProduct<T> const& p) {
    std::size_t j = 0;
    if constexpr (widest == 4) {
      // One panel of three vectors, where that leaves a multiple of four.
      if (p.n % (4 * lanes) >= 3 * lanes) j = panel<3>(p, j);
      while (j + 4 * lanes <= p.n) j = panel<4>(p, j);
    }
    while (j + 2 * lanes <= p.n) j = panel<2>(p, j);
    while (j + lanes <= p.n) j = panel<1>(p, j);
    if (j < p.n) rest(p, j);
  }

 private:
  template <std::size_t NV>
  static std::size_t panel(TileProduct<T> const& p, std::size_t j) {
    rows<NV>(p, p.b + j, p.ldb, [&](std::size_t i, std::size_t v, V value) {
      T* const c = p.c + i * p.ldc + j + v * lanes;
      Vector::store(c, p.accumulate ? Vector::load(c) + value : value);
    });
    return j + NV * lanes;
  }

  /// The last columns, fewer than a vector has: from a copy of b that is filled up with zeros.
  static void rest(TileProduct<T> const& p, std::size_t j) {
    thread_local std::vector<T> filled;
    std::size_t const k = p.segments * p.segment, n = p.n - j;
    if (filled.size() < k * lanes) filled.resize(k * lanes);
    for (std::size_t r = 0; r < k; ++r) Vector::store(filled.data() + r * lanes, Vector::load(p.b + r * p.ldb + j, n));
    rows<1>(p, filled.data(), lanes, [&](std::size_t i, std::size_t, V value) {
      T* const c = p.c + i * p.ldc + j;
      Vector::store(c, p.accumulate ? Vector::load(c, n) + value : value, n);
    });
  }

  /// All rows of a panel, in tiles of as equal heights as can be: a tile of one or two rows waits for its additions.
  template <std::size_t NV, class Store>
  static void rows(TileProduct<T> const& p, T const* b, std::size_t ldb, Store const& store) {
    constexpr std::size_t most = tile_rows(NV);
    std::size_t const tiles = (p.m + most - 1) / most;
    for (std::size_t t = 0, i = 0; t < tiles; ++t) {
      std::size_t const height = p.m / tiles + (t < p.m % tiles ? 1 : 0);
      tile_of<most, NV>(height, p, p.a + i * p.row_stride, b, ldb,
                        [&](std::size_t r, std::size_t v, V value) { store(i + r, v, value); });
      i += height;
    }
  }

  template <std::size_t MR, std::size_t NV, class Store>
  static void tile_of(std::size_t height, TileProduct<T> const& p, T const* a, T const* b, std::size_t ldb,
                      Store const& store) {
    if (height == MR)
      tile<MR, NV>(p, a, b, ldb, store);
    else if constexpr (MR > 1)
      tile_of<MR - 1, NV>(height, p, a, b, ldb, store);
  }

  template <std::size_t MR, std::size_t NV, class Store>
  [[gnu::noinline]] static void tile(TileProduct<T> const& p, T const* a, T const* b, std::size_t ldb,
                                     Store const& store) {
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
    TRIREME_UNROLL(12)
    for (std::size_t i = 0; i < MR; ++i) TRIREME_UNROLL(4)
    for (std::size_t v = 0; v < NV; ++v) store(i, v, sums[i][v]);
  }
};

/// b (columns, rows) = a (rows, columns) transposed, in blocks that stay in the cache.
template <class T>
void transpose(std::size_t rows, std::size_t columns, T const* a, std::size_t lda, T* b, std::size_t ldb) {
  constexpr std::size_t block = 16;
  for (std::size_t i = 0; i < rows; i += block)
    for (std::size_t j = 0; j < columns; j += block)
      for (std::size_t c = j; c < std::min(columns, j + block); ++c)
        for (std::size_t r = i; r < std::min(rows, i + block); ++r) b[c * ldb + r] = a[r * lda + c];
}

}  // namespace trireme::detail
