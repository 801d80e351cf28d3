/// TensorFlowResizing: UpSampling2D<2, 2, Bilinear> with the rounding of TensorFlow, which resizes in float32 only.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <string_view>

#include <Kokkos_Macros.hpp>

#include "trireme/layers/layer.hpp"
#include "trireme/layers/up_sampling2d.hpp"

namespace trireme::test {

/// The two inputs around an output along one axis of `size` inputs, and their weights. At an edge they are the same.
struct ResizingEnds {
  std::size_t index[2];
  float weight[2];
};

KOKKOS_INLINE_FUNCTION ResizingEnds resizing_ends(std::size_t out, std::size_t size) {
  float const at = (static_cast<float>(out) + 0.5f) * 0.5f - 0.5f, low = std::floor(at);
  std::size_t const first = low < 0 ? 0 : static_cast<std::size_t>(low);
  std::size_t const last = std::min(static_cast<std::size_t>(std::ceil(at)), size - 1);
  return {{first, last}, {1.0f - (at - low), at - low}};
}

/// Rounded by itself: the product is exact in double, and no compiler fuses it with a sum.
KOKKOS_INLINE_FUNCTION float rounded_product(float a, float b) {
  return static_cast<float>(static_cast<double>(a) * static_cast<double>(b));
}

template <class T>
struct ResizeInFloat {
  std::size_t height, width, channels;  ///< of the input
  T const* x;
  T* y;
  KOKKOS_FUNCTION void operator()(std::size_t position, std::size_t c) const {
    std::size_t const column = position % (2 * width), line = position / (2 * width), row = line / (2 * height);
    ResizingEnds const down = resizing_ends(line % (2 * height), height), across = resizing_ends(column, width);
    float side[2];
    for (std::size_t k = 0; k < 2; ++k) {
      T const* const pixels = x + (row * height + down.index[k]) * width * channels + c;
      float const left = static_cast<float>(pixels[across.index[0] * channels]);
      float const right = static_cast<float>(pixels[across.index[1] * channels]);
      side[k] = left + rounded_product(right - left, across.weight[1]);
    }
    y[position * channels + c] = static_cast<T>(side[0] + rounded_product(side[1] - side[0], down.weight[1]));
  }
};

/// Products in float, their sums in T.
template <class T>
struct ResizeInFloatGradient {
  std::size_t height, width, channels;  ///< of the input
  T const* dy;
  T* dx;
  KOKKOS_FUNCTION void operator()(std::size_t pixel, std::size_t c) const {
    std::size_t const column = pixel % width, line = pixel / width, i = line % height, row = line / height;
    T sum{0};
    for (std::size_t top = 0; top < 2 * height; ++top) {
      ResizingEnds const down = resizing_ends(top, height);
      for (std::size_t left = 0; left < 2 * width; ++left) {
        ResizingEnds const across = resizing_ends(left, width);
        float const given = static_cast<float>(dy[((row * 2 * height + top) * 2 * width + left) * channels + c]);
        for (std::size_t k = 0; k < 2; ++k)
          for (std::size_t l = 0; l < 2; ++l)
            if (down.index[k] == i && across.index[l] == column)
              sum += static_cast<T>(rounded_product(rounded_product(given, down.weight[k]), across.weight[l]));
      }
    }
    dx[pixel * channels + c] = sum;
  }
};

/// In double its results are those of Keras on TensorFlow, so that what surrounds it can be compared exactly.
/// Source: tensorflow/core/kernels/image/resize_bilinear_op.cc
struct TensorFlowResizing {
  static constexpr std::string_view class_name = "UpSampling2D";

  LayerName name{};

  template <class In>
  constexpr auto output(In const& in) const {
    return UpSampling2D<2, 2, Bilinear>{}.output(in);
  }
  template <class Context, class In, class T>
  void forward(Context& context, In const& in, Forward<T> const& f) const {
    context.for_each("trireme::test::resize_in_float", f.rows * 4 * in[0] * in[1], in[2],
                     ResizeInFloat<T>{in[0], in[1], in[2], f.x, f.y});
  }
  template <class Context, class In, class T>
  void backward(Context& context, In const& in, Backward<T> const& b) const {
    if (!b.dx) return;
    context.for_each("trireme::test::resize_in_float_gradient", b.rows * in[0] * in[1], in[2],
                     ResizeInFloatGradient<T>{in[0], in[1], in[2], b.dy, b.dx});
  }
};

}  // namespace trireme::test
