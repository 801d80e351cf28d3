/// Unfolds images into patches, and folds the patches' gradients back.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include <Kokkos_Macros.hpp>

#include "trireme/backend/convolution/window.hpp"
#include "trireme/backend/simd/four.hpp"
#include "trireme/backend/threads/host_context.hpp"

namespace trireme::kernels {

/// A window in numbers of 32 bits, which devices divide several times as fast as those of 64.
struct ShortWindow {
  struct Axis {
    std::uint32_t in, out, window, stride, dilation, padding;
    explicit Axis(WindowAxis const& axis)
        : in(narrow(axis.in)),
          out(narrow(axis.out)),
          window(narrow(axis.window)),
          stride(narrow(axis.stride)),
          dilation(narrow(axis.dilation)),
          padding(narrow(axis.padding)) {}
    /// The quotient, without a division in the usual case.
    KOKKOS_FUNCTION std::uint32_t position(std::uint32_t offset) const {
      return stride == 1 ? offset : offset / stride;
    }
  };

  Axis height, width;
  std::uint32_t channels;
  std::uint32_t taps;

  explicit ShortWindow(Window2D const& w)
      : height(w.height), width(w.width), channels(narrow(w.channels)), taps(narrow(w.taps())) {}

 private:
  static std::uint32_t narrow(std::size_t value) { return static_cast<std::uint32_t>(value); }
};

/// patches (rows * H' * W', KH * KW, C), with zeros for taps outside of the image. On a device a thread copies one
/// element or four.
template <class T>
struct Unfold {
  ShortWindow w;
  T const* x;
  T* patches;

  /// Copies the channels of one tap.
  template <class Lanes>
    requires(!std::is_integral_v<Lanes>)
  KOKKOS_FUNCTION void operator()(std::size_t e, Lanes const& lanes) const {
    T const* const in = source(e);
    T* const out = patches + e * w.channels;
    if (in == nullptr)
      lanes.for_each(w.channels, [&](std::size_t c) { out[c] = T{0}; });
    else
      lanes.for_each(w.channels, [&](std::size_t c) { out[c] = in[c]; });
  }

  KOKKOS_FUNCTION void operator()(std::size_t e, std::size_t c) const {
    T const* const in = source(e);
    patches[e * w.channels + c] = in == nullptr ? T{0} : in[c];
  }
  KOKKOS_FUNCTION void four(std::size_t e, std::size_t c) const {
    T const* const in = source(e);
    detail::Four<T>& out = detail::Four<T>::from(patches + e * w.channels + c);
    if (in == nullptr)
      out = {};
    else
      out = detail::Four<T>::from(in + c);
  }
  bool takes_four() const { return w.channels % 4 == 0 && detail::starts_four(x) && detail::starts_four(patches); }

 private:
  /// Channels under a tap; null outside of the image.
  KOKKOS_FUNCTION T const* source(std::size_t e) const {
    auto const index = static_cast<std::uint32_t>(e);
    std::uint32_t const position = index / w.taps, tap = index - position * w.taps;
    std::uint32_t const line = position / w.width.out, column = position - line * w.width.out;
    std::uint32_t const row = line / w.height.out, u = tap / w.width.window, v = tap - u * w.width.window;
    // Offsets below the padding wrap to huge numbers, so that one comparison covers both sides.
    std::uint32_t const y = (line - row * w.height.out) * w.height.stride + u * w.height.dilation - w.height.padding;
    std::uint32_t const z = column * w.width.stride + v * w.width.dilation - w.width.padding;
    if (y >= w.height.in || z >= w.width.in) return nullptr;
    return x + ((std::size_t{row} * w.height.in + y) * w.width.in + z) * w.channels;
  }
};

/// dx (rows, H, W, C) collects what the taps over each pixel hold: a gather, so nothing needs to be atomic.
template <class T>
struct Fold {
  ShortWindow w;
  T const* patches;
  T* dx;

  /// The channels of one pixel.
  template <class Lanes>
    requires(!std::is_integral_v<Lanes>)
  KOKKOS_FUNCTION void operator()(std::size_t pixel, Lanes const& lanes) const {
    T* const out = dx + pixel * w.channels;
    lanes.for_each(w.channels, [&](std::size_t c) { out[c] = T{0}; });
    for_taps(pixel, [&](T const* in) { lanes.for_each(w.channels, [&](std::size_t c) { out[c] += in[c]; }); });
  }

  KOKKOS_FUNCTION void operator()(std::size_t pixel, std::size_t c) const {
    T sum{0};
    for_taps(pixel, [&](T const* in) { sum += in[c]; });
    dx[pixel * w.channels + c] = sum;
  }
  KOKKOS_FUNCTION void four(std::size_t pixel, std::size_t c) const {
    detail::Four<T> sum{};
    for_taps(pixel, [&](T const* in) {
      detail::Four<T> const values = detail::Four<T>::from(in + c);
      for (std::size_t k = 0; k < 4; ++k) sum.at[k] += values.at[k];
    });
    detail::Four<T>::from(dx + pixel * w.channels + c) = sum;
  }
  bool takes_four() const { return w.channels % 4 == 0 && detail::starts_four(patches) && detail::starts_four(dx); }

 private:
  /// f(channels) for the taps over a pixel.
  template <class F>
  KOKKOS_FUNCTION void for_taps(std::size_t e, F const& f) const {
    auto const pixel = static_cast<std::uint32_t>(e);
    std::uint32_t const line = pixel / w.width.in, z = pixel - line * w.width.in;
    std::uint32_t const row = line / w.height.in, y = line - row * w.height.in;
    for (std::uint32_t u = 0; u < w.height.window; ++u) {
      std::uint32_t const i = y + w.height.padding - u * w.height.dilation, from_line = w.height.position(i);
      if (from_line * w.height.stride != i || from_line >= w.height.out) continue;
      for (std::uint32_t v = 0; v < w.width.window; ++v) {
        std::uint32_t const j = z + w.width.padding - v * w.width.dilation, from_column = w.width.position(j);
        if (from_column * w.width.stride != j || from_column >= w.width.out) continue;
        std::size_t const position = (std::size_t{row} * w.height.out + from_line) * w.width.out + from_column;
        std::uint32_t const tap = u * w.width.window + v;
        f(patches + (position * w.taps + tap) * w.channels);
      }
    }
  }
};

template <class Context, class T>
void unfold(Context& context, Window2D const& w, std::size_t rows, T const* x, T* patches) {
  Unfold<T> const unfold{ShortWindow(w), x, patches};
  if constexpr (is_host_context<Context>)
    context.for_rows("trireme::unfold", rows * w.positions() * w.taps(), w.channels, unfold);
  else
    context.for_each("trireme::unfold", rows * w.positions() * w.taps(), w.channels, unfold);
}

template <class Context, class T>
void fold(Context& context, Window2D const& w, std::size_t rows, T const* patches, T* dx) {
  Fold<T> const fold{ShortWindow(w), patches, dx};
  if constexpr (is_host_context<Context>)
    context.for_rows("trireme::fold", rows * w.height.in * w.width.in, w.channels, fold);
  else
    context.for_each("trireme::fold", rows * w.height.in * w.width.in, w.channels, fold);
}

}  // namespace trireme::kernels
