/// Geometry of a window that slides over (height, width, channels), for convolution and pooling.
#pragma once

#include <cstddef>

#include <Kokkos_Macros.hpp>

namespace trireme {

/// One window axis. Padding is zeros before the first element; what falls outside is not there.
struct WindowAxis {
  std::size_t in = 0, out = 0;
  std::size_t window = 1, stride = 1, dilation = 1;
  std::size_t padding = 0;
};

/// Extents of the covered area when the taps are dilated.
constexpr std::size_t covered(std::size_t window, std::size_t dilation) { return (window - 1) * dilation + 1; }

/// Keras's rules: valid = floor((in - covered) / stride) + 1, same = ceil(in / stride) with the odd zero at the end.
constexpr WindowAxis window_axis(std::size_t in, std::size_t window, std::size_t stride, std::size_t dilation,
                                 bool same) {
  WindowAxis axis{.in = in, .window = window, .stride = stride, .dilation = dilation};
  std::size_t const reach = covered(window, dilation);
  if (same) {
    axis.out = (in + stride - 1) / stride;
    std::size_t const needed = axis.out == 0 ? 0 : (axis.out - 1) * stride + reach;
    axis.padding = needed > in ? (needed - in) / 2 : 0;
  } else {
    axis.out = in < reach ? 0 : (in - reach) / stride + 1;
  }
  return axis;
}

/// A window that slides over height and width, for convolution and pooling.
struct Window2D {
  WindowAxis height, width;
  std::size_t channels = 0;

  /// Positions of the window, which are those of the output.
  KOKKOS_FUNCTION constexpr std::size_t positions() const { return height.out * width.out; }
  /// Places of the input that the window covers, channels not counted.
  KOKKOS_FUNCTION constexpr std::size_t taps() const { return height.window * width.window; }
  /// Numbers of one sample.
  constexpr std::size_t input_size() const { return height.in * width.in * channels; }
};

}  // namespace trireme
