/// Gradient of the kernel of a convolution whose results were pooled, for few input channels: vectors are of filters,
/// and each position of a pooling window gets the gradients of filters that were largest there, otherwise zeros.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "trireme/backend/convolution/tap_vector.hpp"
#include "trireme/backend/simd/simd.hpp"
#include "trireme/backend/simd/simd_vector.hpp"

namespace trireme::detail {

/// Kernels of KH x KW with `Channels` and `Dilation` between their rows; pooling windows of H x W.
template <class T, std::size_t KH, std::size_t KW, std::size_t Channels, std::size_t Dilation, std::size_t H,
          std::size_t W>
class SpreadGradient {
  using Vector = SimdVector<T>;
  using V = typename Vector::type;
  using Tap = PoolTap<H * W>;
  using Taps = TapVector<T, Tap>;
  static constexpr std::size_t lanes = Vector::lanes;
  /// Contiguous numbers under a kernel row.
  static constexpr std::size_t length = KW * Channels;

  /// Kernel rows whose sums fit the registers beside the gradients, the taps and a factor; tiles as equal as can be.
  static constexpr std::size_t most = simd_registers > 4 ? simd_registers - 4 : 4;
  static constexpr std::size_t rows_at_once = std::max<std::size_t>(1, most / length);
  static constexpr std::size_t tiles = (KH + rows_at_once - 1) / rows_at_once;
  static constexpr std::size_t first_row(std::size_t i) { return KH * i / tiles; }

 public:
  /// One sample: kernel_gradient (KH, length, filters) is added to. `row_size` is the distance between the image's
  /// rows.
  static void add(std::size_t lines, std::size_t windows, std::size_t filters, T const* image, std::size_t row_size,
                  T const* dy, Tap const* taps, T* kernel_gradient) {
    for (std::size_t j = 0; j < filters; j += lanes)
      add_rows<0>({lines, windows, filters, std::min(lanes, filters - j), image, row_size, dy + j, taps + j},
                  kernel_gradient + j);
  }

 private:
  struct Panel {
    std::size_t lines, windows, filters, count;
    T const* image;
    std::size_t row_size;
    T const* dy;
    Tap const* taps;
  };

  template <std::size_t I>
  static void add_rows(Panel panel, T* kernel_gradient) {
    constexpr std::size_t row = first_row(I), rows = first_row(I + 1) - row;
    if (panel.count == lanes)
      tile<rows, true>(panel, kernel_gradient);
    else
      tile<rows, false>(panel, kernel_gradient);
    panel.image += rows * Dilation * panel.row_size;
    if constexpr (I + 1 < tiles) add_rows<I + 1>(panel, kernel_gradient + rows * length * panel.filters);
  }

  template <std::size_t R, bool Full>
  [[gnu::noinline]] static void tile(Panel const& panel, T* kernel_gradient) {
    std::size_t const count = panel.count, filters = panel.filters, row_size = panel.row_size;
    V sums[R * length];
    TRIREME_UNROLL(32)
    for (std::size_t k = 0; k < R * length; ++k) sums[k] = load<Full>(kernel_gradient + k * filters, count);
    T const* dy = panel.dy;
    Tap const* taps = panel.taps;
    for (std::size_t line = 0; line < panel.lines; ++line) {
      T const* corner = panel.image + line * H * row_size;
      for (std::size_t window = 0; window < panel.windows; ++window) {
        V const gradient = load<Full>(dy, count);
        auto const at = Full ? Taps::load(taps) : Taps::load(taps, count);
        TRIREME_UNROLL(16)
        for (std::size_t p = 0; p < H * W; ++p) {
          V const here = Taps::equal(at, p) ? gradient : V{};
          TRIREME_UNROLL(8)
          for (std::size_t r = 0; r < R; ++r) {
            T const* const left = corner + (p / W + r * Dilation) * row_size + p % W * Channels;
            TRIREME_UNROLL(32)
            for (std::size_t l = 0; l < length; ++l) sums[r * length + l] += left[l] * here;
          }
        }
        dy += filters;
        taps += filters;
        corner += W * Channels;
      }
    }
    TRIREME_UNROLL(32)
    for (std::size_t k = 0; k < R * length; ++k) {
      if (Full)
        Vector::store(kernel_gradient + k * filters, sums[k]);
      else
        Vector::store(kernel_gradient + k * filters, sums[k], count);
    }
  }

  template <bool Full>
  [[gnu::always_inline]] static V load(T const* p, std::size_t count) {
    return Full ? Vector::load(p) : Vector::load(p, count);
  }
};

}  // namespace trireme::detail
