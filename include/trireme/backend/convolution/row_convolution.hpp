/// Convolution by one thread, sample by sample, without unfolding: channels are last, so the taps of a kernel's row are
/// contiguous numbers, and a row of outputs is a product whose left operand overlaps itself.
#pragma once

#include <algorithm>
#include <cstddef>

#include "trireme/backend/convolution/window.hpp"
#include "trireme/backend/gemm/tile_gemm.hpp"
#include "trireme/backend/simd/simd_vector.hpp"
#include "trireme/tensor/arena.hpp"

namespace trireme::detail {

template <class T>
class RowConvolution {
 public:
  /// True if a window can slide this way: the taps of a row must be neighbours.
  static constexpr bool fits(Window2D const& w) { return has_simd && (w.width.dilation == 1 || w.width.window == 1); }

  static constexpr std::size_t workspace(Window2D const& w, std::size_t filters) {
    return 2 * aligned_bytes(padded_size(w) * sizeof(T)) + aligned_bytes(kernel_size(w, filters) * sizeof(T));
  }

  RowConvolution(Window2D const& w, std::size_t filters, Workspace workspace)
      : w_(w),
        filters_(filters),
        image_(workspace.take<T>(padded_size(w))),
        gradient_(workspace.take<T>(padded_size(w))),
        transposed_(workspace.take<T>(kernel_size(w, filters))) {}

  void forward(std::size_t rows, T const* x, T const* kernel, T* y) const {
    for (std::size_t sample = 0; sample < rows; ++sample, x += w_.input_size(), y += w_.positions() * filters_) {
      T const* const image = pad(x);
      for (std::size_t line = 0; line < w_.height.out; ++line)
        TileGemm<T>::run({.m = w_.width.out,
                          .n = filters_,
                          .a = {.first = image + line * w_.height.stride * row_size(),
                                .row_stride = w_.width.stride * w_.channels,
                                .step = 1,
                                .segment = taps_size(),
                                .segments = w_.height.window,
                                .segment_stride = w_.height.dilation * row_size()},
                          .b = kernel,
                          .ldb = filters_,
                          .c = y + line * w_.width.out * filters_,
                          .ldc = filters_});
    }
  }

  /// kernel_gradient is overwritten; it and dx may be null.
  void backward(std::size_t rows, T const* x, T const* kernel, T const* dy, T* kernel_gradient, T* dx) const {
    if (dx) prepare_input_gradient(kernel);
    for (std::size_t sample = 0; sample < rows; ++sample) {
      if (kernel_gradient) add_kernel_gradient(pad(x), dy, kernel_gradient, sample > 0);
      if (dx) {
        input_gradient(dy, dx);
        dx += w_.input_size();
      }
      x += w_.input_size();
      dy += w_.positions() * filters_;
    }
  }

  std::size_t row_size() const { return padded(w_.width) * w_.channels; }
  std::size_t taps_size() const { return w_.width.window * w_.channels; }

  /// One sample's image with its padding around it.
  T const* pad(T const* x) const {
    if (!is_padded(w_)) return x;
    std::fill_n(image_, padded_size(w_), T{0});
    for (std::size_t i = 0; i < w_.height.in; ++i)
      std::copy_n(x + i * w_.width.in * w_.channels, w_.width.in * w_.channels, image_ + inside(i));
    return image_;
  }
  /// Zeros, as large as a padded image, in which one sample's dx is summed up; `unpad` puts them into dx.
  T* cleared(T* dx) const {
    T* const image = is_padded(w_) ? gradient_ : dx;
    std::fill_n(image, is_padded(w_) ? padded_size(w_) : w_.input_size(), T{0});
    return image;
  }
  void unpad(T* dx) const {
    if (!is_padded(w_)) return;
    for (std::size_t i = 0; i < w_.height.in; ++i)
      std::copy_n(gradient_ + inside(i), w_.width.in * w_.channels, dx + i * w_.width.in * w_.channels);
  }

  /// One sample's part of the kernel's gradient, from its padded image.
  void add_kernel_gradient(T const* image, T const* dy, T* kernel_gradient, bool accumulate) const {
    for (std::size_t tap = 0; tap < w_.height.window; ++tap)
      TileGemm<T>::run({.m = taps_size(),
                        .n = filters_,
                        .a = {.first = image + tap * w_.height.dilation * row_size(),
                              .row_stride = 1,
                              .step = w_.width.stride * w_.channels,
                              .segment = w_.width.out,
                              .segments = w_.height.out,
                              .segment_stride = w_.height.stride * row_size()},
                        .b = dy,
                        .ldb = filters_,
                        .c = kernel_gradient + tap * taps_size() * filters_,
                        .ldc = filters_,
                        .accumulate = accumulate});
  }

  /// One sample's dx, once `prepare_input_gradient` has seen the kernel.
  void prepare_input_gradient(T const* kernel) const {
    transpose(w_.taps() * w_.channels, filters_, kernel, filters_, transposed_, w_.taps() * w_.channels);
  }
  void input_gradient(T const* dy, T* dx) const {
    T* const image = cleared(dx);
    for (std::size_t line = 0; line < w_.height.out; ++line)
      for (std::size_t tap = 0; tap < w_.height.window; ++tap)
        TileGemm<T>::run({.m = w_.width.out,
                          .n = taps_size(),
                          .a = {.first = dy + line * w_.width.out * filters_,
                                .row_stride = filters_,
                                .step = 1,
                                .segment = filters_},
                          .b = transposed_ + tap * taps_size(),
                          .ldb = w_.taps() * w_.channels,
                          .c = image + (line * w_.height.stride + tap * w_.height.dilation) * row_size(),
                          .ldc = w_.width.stride * w_.channels,
                          .accumulate = true});
    unpad(dx);
  }

 private:
  /// The part of the image, with zeros around, that some window covers.
  static constexpr std::size_t padded(WindowAxis const& axis) {
    return std::max((axis.out - 1) * axis.stride + covered(axis.window, axis.dilation), axis.in + axis.padding);
  }
  static constexpr bool is_padded(Window2D const& w) {
    return padded(w.height) != w.height.in || padded(w.width) != w.width.in;
  }
  static constexpr std::size_t padded_size(Window2D const& w) {
    return is_padded(w) ? padded(w.height) * padded(w.width) * w.channels : 0;
  }
  static constexpr std::size_t kernel_size(Window2D const& w, std::size_t filters) {
    return w.taps() * w.channels * filters;
  }
  /// Offset of the image's row i in the padded image.
  std::size_t inside(std::size_t i) const {
    return (i + w_.height.padding) * row_size() + w_.width.padding * w_.channels;
  }

  Window2D w_;
  std::size_t filters_;
  T* image_;
  T* gradient_;
  T* transposed_;
};

}  // namespace trireme::detail
