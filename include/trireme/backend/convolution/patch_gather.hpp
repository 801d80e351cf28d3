/// Patches of images, gathered a block at a time: the left operand of a convolution's products.
#pragma once

#include <algorithm>
#include <cstddef>
#include <numeric>

#include "trireme/backend/convolution/window.hpp"

namespace trireme::detail {

/// Taps along one axis: position q has its tap t at pixel q * step + first + t * delta, where pixels begin with 0 and
/// end before `in`.
struct TapAxis {
  std::size_t in, positions, step, taps;
  std::ptrdiff_t first, delta;
  std::size_t tap_first, tap_step;  ///< tap t is the window's tap tap_first + t * tap_step
  std::size_t out_first, out_step;  ///< and q the output's pixel out_first + q * out_step

  std::ptrdiff_t pixel(std::size_t q) const { return static_cast<std::ptrdiff_t>(q * step) + first; }
};

/// The axis of a convolution: each position sees all taps.
constexpr TapAxis output_taps(WindowAxis const& a) {
  return {.in = a.in,
          .positions = a.out,
          .step = a.stride,
          .taps = a.window,
          .first = -static_cast<std::ptrdiff_t>(a.padding),
          .delta = static_cast<std::ptrdiff_t>(a.dilation),
          .tap_first = 0,
          .tap_step = 1,
          .out_first = 0,
          .out_step = 1};
}

/// The axis of its input's gradient, for every stride-th pixel from `residue` on: all of these lie under the same taps.
constexpr TapAxis input_taps(WindowAxis const& a, std::size_t residue) {
  std::size_t const tap_step = a.stride / std::gcd(a.stride, a.dilation);
  std::size_t first = 0;
  while (first < tap_step && first < a.window &&
         (residue + a.padding + a.stride * a.window * a.dilation - first * a.dilation) % a.stride != 0)
    ++first;
  bool const any = first < tap_step && first < a.window;
  auto const distance =
      static_cast<std::ptrdiff_t>(residue + a.padding) - static_cast<std::ptrdiff_t>(first * a.dilation);
  return {.in = a.out,
          .positions = residue < a.in ? (a.in - residue + a.stride - 1) / a.stride : 0,
          .step = 1,
          .taps = any ? (a.window - first + tap_step - 1) / tap_step : 0,
          .first = distance / static_cast<std::ptrdiff_t>(a.stride),
          .delta = -static_cast<std::ptrdiff_t>(tap_step * a.dilation / a.stride),
          .tap_first = first,
          .tap_step = tap_step,
          .out_first = residue,
          .out_step = a.stride};
}

/// Patches of `rows` images of `channels` numbers a pixel.
struct PatchGrid {
  TapAxis height, width;
  std::size_t channels, rows;

  std::size_t taps() const { return height.taps * width.taps; }
  std::size_t positions() const { return rows * height.positions * width.positions; }
  std::size_t patch_size() const { return taps() * channels; }
};

/// The pixels of a position.
struct PatchPlace {
  std::size_t sample, line, column;

  PatchPlace(PatchGrid const& grid, std::size_t position)
      : sample(position / grid.width.positions / grid.height.positions),
        line(position / grid.width.positions % grid.height.positions),
        column(position % grid.width.positions) {}
};

/// Channels [begin, end) of tap (u, v) of a position; zeros outside of the image.
template <class T>
void gather_tap(PatchGrid const& g, T const* image, std::ptrdiff_t line, std::ptrdiff_t column, std::size_t begin,
                std::size_t end, T* to) {
  auto const inside = [](std::ptrdiff_t i, std::size_t n) { return i >= 0 && i < static_cast<std::ptrdiff_t>(n); };
  if (inside(line, g.height.in) && inside(column, g.width.in))
    std::copy_n(
        image + (static_cast<std::size_t>(line) * g.width.in + static_cast<std::size_t>(column)) * g.channels + begin,
        end - begin, to);
  else
    std::fill_n(to, end - begin, T{0});
}

/// to (count, patch_size) = the patches of positions from `first` on.
template <class T>
void gather_patches(PatchGrid const& g, T const* images, std::size_t first, std::size_t count, T* to) {
  std::size_t const run = g.width.taps * g.channels;
  for (std::size_t i = 0; i < count; ++i) {
    PatchPlace const at(g, first + i);
    T const* const image = images + at.sample * g.height.in * g.width.in * g.channels;
    std::ptrdiff_t const column = g.width.pixel(at.column);
    bool const whole = g.width.delta == 1 && column >= 0 &&
                       column + static_cast<std::ptrdiff_t>(g.width.taps) <= static_cast<std::ptrdiff_t>(g.width.in);
    std::ptrdiff_t line = g.height.pixel(at.line);
    for (std::size_t u = 0; u < g.height.taps; ++u, line += g.height.delta, to += run) {
      if (whole && line >= 0 && line < static_cast<std::ptrdiff_t>(g.height.in)) {
        std::copy_n(
            image + (static_cast<std::size_t>(line) * g.width.in + static_cast<std::size_t>(column)) * g.channels, run,
            to);
        continue;
      }
      for (std::size_t v = 0; v < g.width.taps; ++v)
        gather_tap(g, image, line, column + static_cast<std::ptrdiff_t>(v) * g.width.delta, 0, g.channels,
                   to + v * g.channels);
    }
  }
}

/// to (count, ld) = channels [begin, end) of one tap of the patches of positions from `first` on.
template <class T>
void gather_taps(PatchGrid const& g, T const* images, std::size_t tap, std::size_t begin, std::size_t end,
                 std::size_t first, std::size_t count, T* to, std::size_t ld) {
  std::ptrdiff_t const u = static_cast<std::ptrdiff_t>(tap / g.width.taps) * g.height.delta,
                       v = static_cast<std::ptrdiff_t>(tap % g.width.taps) * g.width.delta;
  for (std::size_t i = 0; i < count; ++i) {
    PatchPlace const at(g, first + i);
    gather_tap(g, images + at.sample * g.height.in * g.width.in * g.channels, g.height.pixel(at.line) + u,
               g.width.pixel(at.column) + v, begin, end, to + i * ld);
  }
}

}  // namespace trireme::detail
