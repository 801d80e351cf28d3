/// Kernels of max and average pooling over (height, width, channels).
#pragma once

#include <cstddef>
#include <cstdint>

#include <Kokkos_Macros.hpp>

#include "trireme/backend/convolution/window.hpp"
#include "trireme/backend/simd/four.hpp"

namespace trireme::kernels {

/// First element of the window of an output position, for windows that lie inside the image.
KOKKOS_INLINE_FUNCTION std::size_t window_begin(Window2D const& w, std::size_t position) {
  std::size_t const column = position % w.width.out, line = position / w.width.out;
  std::size_t const row = line / w.height.out, top = line % w.height.out * w.height.stride;
  return ((row * w.height.in + top) * w.width.in + column * w.width.stride) * w.channels;
}

/// True if `value` takes the place of the largest so far: a NaN does, and keeps it.
template <class T>
KOKKOS_INLINE_FUNCTION bool is_larger(T value, T largest) {
  return (value > largest) | (value != value);
}

/// Largest value of one channel's window of H x W taps inside the image.
template <class T, std::size_t H, std::size_t W>
struct MaxPoolInside {
  Window2D w;
  T const* x;
  T* y;
  KOKKOS_FUNCTION void operator()(std::size_t position, std::size_t c) const {
    T const* const in = x + window_begin(w, position) + c;
    T largest = in[0];
    for (std::size_t u = 0; u < H; ++u)
      for (std::size_t v = 0; v < W; ++v) {
        T const value = in[(u * w.width.in + v) * w.channels];
        largest = is_larger(value, largest) ? value : largest;
      }
    y[position * w.channels + c] = largest;
  }
  /// Of four neighbouring channels.
  KOKKOS_FUNCTION void four(std::size_t position, std::size_t c) const {
    using Four = detail::Four<T>;
    T const* const in = x + window_begin(w, position) + c;
    Four largest = Four::from(in);
    for (std::size_t u = 0; u < H; ++u)
      for (std::size_t v = 0; v < W; ++v) {
        Four const values = Four::from(in + (u * w.width.in + v) * w.channels);
        for (std::size_t k = 0; k < 4; ++k)
          largest.at[k] = is_larger(values.at[k], largest.at[k]) ? values.at[k] : largest.at[k];
      }
    Four::from(y + position * w.channels + c) = largest;
  }
  bool takes_four() const { return w.channels % 4 == 0 && detail::starts_four(x) && detail::starts_four(y); }
};

/// Its backward where windows do not overlap: the first tap that holds the largest value gets the gradient, and none
/// where that is a NaN, which the loss shows.
template <class T, std::size_t H, std::size_t W>
struct MaxPoolInsideGradient {
  Window2D w;
  T const* x;
  T const* y;
  T const* dy;
  T* dx;
  KOKKOS_FUNCTION void operator()(std::size_t position, std::size_t c) const {
    std::size_t const begin = window_begin(w, position) + c;
    T const largest = y[position * w.channels + c];
    T left = dy[position * w.channels + c];
    for (std::size_t u = 0; u < H; ++u)
      for (std::size_t v = 0; v < W; ++v) {
        std::size_t const at = begin + (u * w.width.in + v) * w.channels;
        bool const here = x[at] == largest;
        dx[at] = here ? left : T{0};
        left = here ? T{0} : left;
      }
  }
  /// Of four neighbouring channels.
  KOKKOS_FUNCTION void four(std::size_t position, std::size_t c) const {
    using Four = detail::Four<T>;
    std::size_t const begin = window_begin(w, position) + c;
    Four const largest = Four::from(y + position * w.channels + c);
    Four left = Four::from(dy + position * w.channels + c);
    for (std::size_t u = 0; u < H; ++u)
      for (std::size_t v = 0; v < W; ++v) {
        std::size_t const at = begin + (u * w.width.in + v) * w.channels;
        Four const values = Four::from(x + at);
        Four gradients;
        for (std::size_t k = 0; k < 4; ++k) {
          bool const here = values.at[k] == largest.at[k];
          gradients.at[k] = here ? left.at[k] : T{0};
          left.at[k] = here ? T{0} : left.at[k];
        }
        Four::from(dx + at) = gradients;
      }
  }
  bool takes_four() const {
    return w.channels % 4 == 0 && detail::starts_four(x) && detail::starts_four(y) && detail::starts_four(dy) &&
           detail::starts_four(dx);
  }
};

/// One output position: the largest value of each channel's window, and which tap had it (the first one, if several).
template <class T>
struct MaxPool {
  Window2D w;
  T const* x;
  T* y;
  std::uint16_t* taps;
  template <class Lanes>
  KOKKOS_FUNCTION void operator()(std::size_t position, Lanes const& lanes) const {
    std::size_t const column = position % w.width.out, line = position / w.width.out;
    std::size_t const row = line / w.height.out;
    std::size_t const top = line % w.height.out * w.height.stride, left = column * w.width.stride;
    T* const out = y + position * w.channels;
    std::uint16_t* const at = taps + position * w.channels;
    bool empty = true;
    for (std::size_t u = 0; u < w.height.window; ++u)
      for (std::size_t v = 0; v < w.width.window; ++v) {
        std::size_t const i = top + u - w.height.padding, j = left + v - w.width.padding;
        if (i >= w.height.in || j >= w.width.in) continue;
        T const* const in = x + ((row * w.height.in + i) * w.width.in + j) * w.channels;
        auto const tap = static_cast<std::uint16_t>(u * w.width.window + v);
        if (empty)
          lanes.for_each(w.channels, [&](std::size_t c) {
            out[c] = in[c];
            at[c] = tap;
          });
        else  // all is read before anything is written: GCC makes a branch of it otherwise, and no vectors
          lanes.for_each(w.channels, [&](std::size_t c) {
            T const value = in[c], before = out[c];
            std::uint16_t const tap_before = at[c];
            bool const larger = is_larger(value, before);
            at[c] = larger ? tap : tap_before;
            out[c] = larger ? value : before;
          });
        empty = false;
      }
  }
};

/// One input pixel: the gradients of the windows in which it was the largest.
template <class T>
struct MaxPoolGradient {
  Window2D w;
  T const* dy;
  std::uint16_t const* taps;
  T* dx;
  template <class Lanes>
  KOKKOS_FUNCTION void operator()(std::size_t pixel, Lanes const& lanes) const {
    std::size_t const z = pixel % w.width.in, line = pixel / w.width.in;
    std::size_t const i = line % w.height.in, row = line / w.height.in;
    T* const out = dx + pixel * w.channels;
    lanes.for_each(w.channels, [&](std::size_t c) { out[c] = T{0}; });
    for (std::size_t u = 0; u < w.height.window; ++u) {
      std::size_t const top = i + w.height.padding - u;
      if (top % w.height.stride != 0 || top / w.height.stride >= w.height.out) continue;
      for (std::size_t v = 0; v < w.width.window; ++v) {
        std::size_t const left = z + w.width.padding - v;
        if (left % w.width.stride != 0 || left / w.width.stride >= w.width.out) continue;
        std::size_t const position = (row * w.height.out + top / w.height.stride) * w.width.out + left / w.width.stride;
        auto const tap = static_cast<std::uint16_t>(u * w.width.window + v);
        lanes.for_each(w.channels, [&](std::size_t c) {
          T const gradient = dy[position * w.channels + c];
          bool const here = taps[position * w.channels + c] == tap;
          out[c] += here ? gradient : T{0};
        });
      }
    }
  }
};

/// Number of taps of the output position (line, column) that lie inside the image.
KOKKOS_INLINE_FUNCTION std::size_t taps_inside(Window2D const& w, std::size_t line, std::size_t column) {
  std::size_t rows = 0, columns = 0;
  for (std::size_t u = 0; u < w.height.window; ++u)
    rows += line * w.height.stride + u - w.height.padding < w.height.in ? 1 : 0;
  for (std::size_t v = 0; v < w.width.window; ++v)
    columns += column * w.width.stride + v - w.width.padding < w.width.in ? 1 : 0;
  return rows * columns;
}

/// One output position: the mean of each channel over the part of the window that lies inside the image.
template <class T>
struct AveragePool {
  Window2D w;
  T const* x;
  T* y;
  template <class Lanes>
  KOKKOS_FUNCTION void operator()(std::size_t position, Lanes const& lanes) const {
    std::size_t const column = position % w.width.out, line = position / w.width.out;
    std::size_t const row = line / w.height.out, height = line % w.height.out;
    T* const out = y + position * w.channels;
    lanes.for_each(w.channels, [&](std::size_t c) { out[c] = T{0}; });
    for (std::size_t u = 0; u < w.height.window; ++u)
      for (std::size_t v = 0; v < w.width.window; ++v) {
        std::size_t const i = height * w.height.stride + u - w.height.padding;
        std::size_t const j = column * w.width.stride + v - w.width.padding;
        if (i >= w.height.in || j >= w.width.in) continue;
        T const* const in = x + ((row * w.height.in + i) * w.width.in + j) * w.channels;
        lanes.for_each(w.channels, [&](std::size_t c) { out[c] += in[c]; });
      }
    T const share = T{1} / static_cast<T>(taps_inside(w, height, column));
    lanes.for_each(w.channels, [&](std::size_t c) { out[c] *= share; });
  }
};

/// One input pixel: its share of the gradients of the windows over it.
template <class T>
struct AveragePoolGradient {
  Window2D w;
  T const* dy;
  T* dx;
  template <class Lanes>
  KOKKOS_FUNCTION void operator()(std::size_t pixel, Lanes const& lanes) const {
    std::size_t const z = pixel % w.width.in, line = pixel / w.width.in;
    std::size_t const i = line % w.height.in, row = line / w.height.in;
    T* const out = dx + pixel * w.channels;
    lanes.for_each(w.channels, [&](std::size_t c) { out[c] = T{0}; });
    for (std::size_t u = 0; u < w.height.window; ++u) {
      std::size_t const top = i + w.height.padding - u;
      if (top % w.height.stride != 0 || top / w.height.stride >= w.height.out) continue;
      for (std::size_t v = 0; v < w.width.window; ++v) {
        std::size_t const left = z + w.width.padding - v;
        if (left % w.width.stride != 0 || left / w.width.stride >= w.width.out) continue;
        std::size_t const height = top / w.height.stride, column = left / w.width.stride;
        T const share = T{1} / static_cast<T>(taps_inside(w, height, column));
        T const* const in = dy + ((row * w.height.out + height) * w.width.out + column) * w.channels;
        lanes.for_each(w.channels, [&](std::size_t c) { out[c] += share * in[c]; });
      }
    }
  }
};

/// Mean over all positions of a sample, channel by channel; and its backward, a broadcast.
template <class T>
struct GlobalMean {
  T const* x;
  T* y;
  std::size_t positions, channels;
  template <class Lanes>
  KOKKOS_FUNCTION void operator()(std::size_t row, Lanes const& lanes) const {
    T* const out = y + row * channels;
    lanes.for_each(channels, [&](std::size_t c) { out[c] = T{0}; });
    for (std::size_t p = 0; p < positions; ++p) {
      T const* const in = x + (row * positions + p) * channels;
      lanes.for_each(channels, [&](std::size_t c) { out[c] += in[c]; });
    }
    T const share = T{1} / static_cast<T>(positions);
    lanes.for_each(channels, [&](std::size_t c) { out[c] *= share; });
  }
};

template <class T>
struct GlobalMeanGradient {
  T const* dy;
  T* dx;
  std::size_t positions, channels;
  KOKKOS_FUNCTION void operator()(std::size_t pixel, std::size_t c) const {
    dx[pixel * channels + c] = dy[pixel / positions * channels + c] / static_cast<T>(positions);
  }
};

}  // namespace trireme::kernels
