/// Unfolds images into patches, and folds the patches' gradients back.
#pragma once

#include <cstddef>

#include <Kokkos_Macros.hpp>

#include "trireme/backend/convolution/window.hpp"

namespace trireme::kernels {

/// patches (rows * H' * W', KH * KW, C): one call copies the channels of one tap; zeros where it lies outside.
template <class T>
struct Unfold {
  Window2D w;
  T const* x;
  T* patches;
  template <class Lanes>
  KOKKOS_FUNCTION void operator()(std::size_t e, Lanes const& lanes) const {
    std::size_t const tap = e % w.taps(), position = e / w.taps();
    std::size_t const column = position % w.width.out, line = position / w.width.out;
    std::size_t const row = line / w.height.out;
    std::size_t const i = line % w.height.out * w.height.stride + tap / w.width.window * w.height.dilation;
    std::size_t const j = column * w.width.stride + tap % w.width.window * w.width.dilation;
    T* const out = patches + e * w.channels;
    // Offsets below the padding wrap to huge numbers, so that one comparison covers both sides.
    std::size_t const y = i - w.height.padding, z = j - w.width.padding;
    if (y >= w.height.in || z >= w.width.in) {
      lanes.for_each(w.channels, [&](std::size_t c) { out[c] = T{0}; });
      return;
    }
    T const* const in = x + ((row * w.height.in + y) * w.width.in + z) * w.channels;
    lanes.for_each(w.channels, [&](std::size_t c) { out[c] = in[c]; });
  }
};

/// dx (rows, H, W, C) collects what the taps over each pixel hold: a gather, so nothing needs to be atomic.
template <class T>
struct Fold {
  Window2D w;
  T const* patches;
  T* dx;
  template <class Lanes>
  KOKKOS_FUNCTION void operator()(std::size_t pixel, Lanes const& lanes) const {
    std::size_t const z = pixel % w.width.in, line = pixel / w.width.in;
    std::size_t const y = line % w.height.in, row = line / w.height.in;
    T* const out = dx + pixel * w.channels;
    lanes.for_each(w.channels, [&](std::size_t c) { out[c] = T{0}; });
    for (std::size_t u = 0; u < w.height.window; ++u) {
      std::size_t const i = y + w.height.padding - u * w.height.dilation;
      if (i % w.height.stride != 0 || i / w.height.stride >= w.height.out) continue;
      for (std::size_t v = 0; v < w.width.window; ++v) {
        std::size_t const j = z + w.width.padding - v * w.width.dilation;
        if (j % w.width.stride != 0 || j / w.width.stride >= w.width.out) continue;
        std::size_t const position = (row * w.height.out + i / w.height.stride) * w.width.out + j / w.width.stride;
        T const* const in = patches + (position * w.taps() + u * w.width.window + v) * w.channels;
        lanes.for_each(w.channels, [&](std::size_t c) { out[c] += in[c]; });
      }
    }
  }
};

template <class Context, class T>
void unfold(Context& context, Window2D const& w, std::size_t rows, T const* x, T* patches) {
  context.for_rows("trireme::unfold", rows * w.positions() * w.taps(), w.channels, Unfold<T>{w, x, patches});
}

template <class Context, class T>
void fold(Context& context, Window2D const& w, std::size_t rows, T const* patches, T* dx) {
  context.for_rows("trireme::fold", rows * w.height.in * w.width.in, w.channels, Fold<T>{w, patches, dx});
}

}  // namespace trireme::kernels
