/// The register tile of a convolution whose results are pooled at once: all positions of a pooling window lie in
/// registers, and only the largest value and its tap are written.
#pragma once

#include <algorithm>
#include <cstddef>

#include "trireme/backend/convolution/tap_vector.hpp"
#include "trireme/backend/simd/simd.hpp"
#include "trireme/backend/simd/simd_vector.hpp"

namespace trireme::detail {

/// A line of pooling windows over one image.
template <class T, class Tap>
struct WindowLine {
  std::size_t windows;
  T const* x;                                     ///< the numbers under the first position of the first window
  std::size_t row_size, channels;                 ///< distances between positions below and beside each other
  std::size_t segments, segment, segment_stride;  ///< kernel rows, their contiguous numbers, their distance in x
  std::size_t filters;                            ///< distance between windows in y and taps
  T* y;
  Tap* taps;
};

/// Pooling windows of H x W positions that lie side by side.
template <class T, std::size_t H, std::size_t W>
class WindowTile {
  using Vector = SimdVector<T>;
  using V = typename Vector::type;
  static constexpr std::size_t lanes = Vector::lanes;
  static constexpr std::size_t registers = simd_registers > 0 ? simd_registers : 16;
  /// Positions whose sums are made at once: a vector of the kernel and an element of x need registers too.
  static constexpr std::size_t group = std::min(H * W, registers - 2);

  using Tap = PoolTap<H * W>;
  using Taps = TapVector<T, Tap>;
  using Choice = typename Taps::type;

 public:
  /// Vectors of filters, and windows beside each other, that fit the registers.
  static constexpr std::size_t widest = [] {
    std::size_t vectors = registers >= 32 ? 4 : 3;
    while (vectors > 1 && group * vectors + vectors + 1 > registers) --vectors;
    return vectors;
  }();
  static constexpr std::size_t most_windows(std::size_t vectors) {
    return std::max<std::size_t>(1, (registers - 1 - vectors) / (group * vectors));
  }

  /// NV vectors of filters from column j on; of the last one only `count` lanes are written. The kernel has rows of
  /// `ldk` numbers, bias may be null.
  template <std::size_t NV>
  static void run(WindowLine<T, Tap> const& line, std::size_t j, T const* kernel, std::size_t ldk, T const* bias,
                  std::size_t count = lanes) {
    constexpr std::size_t most = most_windows(NV);
    std::size_t const tiles = (line.windows + most - 1) / most;
    for (std::size_t t = 0, i = 0; t < tiles; ++t) {
      std::size_t const windows = line.windows / tiles + (t < line.windows % tiles ? 1 : 0);
      tile_of<most, NV>(windows, line, i, j, kernel, ldk, bias, count);
      i += windows;
    }
  }

 private:
  template <std::size_t N, std::size_t NV>
  static void tile_of(std::size_t windows, WindowLine<T, Tap> const& line, std::size_t i, std::size_t j,
                      T const* kernel, std::size_t ldk, T const* bias, std::size_t count) {
    if (windows == N)
      tile<N, NV>(line, i, j, kernel, ldk, bias, count);
    else if constexpr (N > 1)
      tile_of<N - 1, NV>(windows, line, i, j, kernel, ldk, bias, count);
  }

  template <std::size_t N, std::size_t NV>
  [[gnu::noinline]] static void tile(WindowLine<T, Tap> const& line, std::size_t i, std::size_t j, T const* kernel,
                                     std::size_t ldk, T const* bias, std::size_t count) {
    V largest[N][NV];
    Choice at[N][NV] = {};
    merge_from<0, N, NV>(line, line.x + i * W * line.channels, kernel, ldk, bias, largest, at);
    TRIREME_UNROLL(32)
    for (std::size_t n = 0; n < N; ++n) TRIREME_UNROLL(4)
    for (std::size_t v = 0; v < NV; ++v) {
      std::size_t const e = (i + n) * line.filters + j + v * lanes;
      if (v + 1 < NV || count == lanes) {
        Vector::store(line.y + e, largest[n][v]);
        Taps::store(line.taps + e, at[n][v], lanes);
      } else {
        Vector::store(line.y + e, largest[n][v], count);
        Taps::store(line.taps + e, at[n][v], count);
      }
    }
  }

  /// Positions First, First + 1, … of all windows; the largest value so far stays unless one of them is larger, or a
  /// NaN.
  template <std::size_t First, std::size_t N, std::size_t NV>
  [[gnu::always_inline]] static void merge_from(WindowLine<T, Tap> const& line, T const* x, T const* kernel,
                                                std::size_t ldk, T const* bias, V (&largest)[N][NV],
                                                Choice (&at)[N][NV]) {
    constexpr std::size_t positions = std::min(group, H * W - First);
    V sums[N][positions][NV];
    TRIREME_UNROLL(4)
    for (std::size_t v = 0; v < NV; ++v) {
      V const start = bias ? Vector::load(bias + v * lanes) : V{};
      TRIREME_UNROLL(32)
      for (std::size_t n = 0; n < N; ++n) TRIREME_UNROLL(32)
      for (std::size_t p = 0; p < positions; ++p) sums[n][p][v] = start;
    }
    T const* b = kernel;
    std::size_t const row_size = line.row_size, channels = line.channels, segment = line.segment;
    for (std::size_t s = 0; s < line.segments; ++s) {
      T const* left = x + s * line.segment_stride;
      for (T const* const end = left + segment; left < end;) {
        V right[NV];
        TRIREME_UNROLL(4)
        for (std::size_t v = 0; v < NV; ++v) right[v] = Vector::load(b + v * lanes);
        b += ldk;
        TRIREME_UNROLL(32)
        for (std::size_t n = 0; n < N; ++n) TRIREME_UNROLL(32)
        for (std::size_t p = 0; p < positions; ++p) {
          T const factor = left[(First + p) / W * row_size + (n * W + (First + p) % W) * channels];
          TRIREME_UNROLL(4)
          for (std::size_t v = 0; v < NV; ++v) sums[n][p][v] += factor * right[v];
        }
        ++left;
      }
    }
    TRIREME_UNROLL(32)
    for (std::size_t n = 0; n < N; ++n) TRIREME_UNROLL(4)
    for (std::size_t v = 0; v < NV; ++v) {
      if constexpr (First == 0) largest[n][v] = sums[n][0][v];
      TRIREME_UNROLL(32)
      for (std::size_t p = First == 0 ? 1 : 0; p < positions; ++p) {
        V const value = sums[n][p][v];
        Choice const larger = (value > largest[n][v]) | (value != value);  // a NaN is, as in MaxPooling2D
        largest[n][v] = larger ? value : largest[n][v];
        at[n][v] = larger ? Taps::all(First + p) : at[n][v];
      }
    }
    if constexpr (First + positions < H * W)
      merge_from<First + positions, N, NV>(line, x, kernel, ldk, bias, largest, at);
  }
};

}  // namespace trireme::detail
