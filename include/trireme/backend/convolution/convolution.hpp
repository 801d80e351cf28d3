/// Convolution: row products where one thread has its rows, products over unfolded patches elsewhere.
#pragma once

#include <algorithm>
#include <cstddef>

#include "trireme/backend/convolution/patch_kernels.hpp"
#include "trireme/backend/convolution/row_convolution.hpp"
#include "trireme/backend/convolution/window.hpp"
#include "trireme/backend/gemm/product.hpp"
#include "trireme/tensor/arena.hpp"

namespace trireme {

namespace detail {

/// Elements of the patches of one sample: one row per output position, the taps' channels in it.
constexpr std::size_t patch_elements(Window2D const& w) { return w.positions() * w.taps() * w.channels; }

template <class T, class Context>
constexpr std::size_t chunk_rows(Window2D const& w, std::size_t rows) {
  return std::min(rows, Context::convolution_chunk(patch_elements(w) * sizeof(T)));
}

template <class T, class Context>
constexpr bool by_row_products(Window2D const& w) {
  return Context::owns_rows && RowConvolution<T>::fits(w);
}

/// A 1 x 1 window with stride 1 has its input as its patches.
constexpr bool patches_are_input(Window2D const& w) {
  return w.taps() == 1 && w.height.stride == 1 && w.width.stride == 1;
}

/// Calls f(first row, rows) for chunk after chunk.
template <class F>
void for_chunks(std::size_t rows, std::size_t chunk, F const& f) {
  for (std::size_t first = 0; first < rows; first += chunk) f(first, std::min(chunk, rows - first));
}

}  // namespace detail

/// Bytes that convolution and its backward need for a slice of `rows`.
template <class T, class Context>
constexpr std::size_t convolution_workspace(Window2D const& w, std::size_t filters, std::size_t rows) {
  if (detail::by_row_products<T, Context>(w)) return detail::RowConvolution<T>::workspace(w, filters);
  if (detail::patches_are_input(w)) return 0;
  return aligned_bytes(detail::chunk_rows<T, Context>(w, rows) * detail::patch_elements(w) * sizeof(T));
}

/// y (rows, H', W', filters) = x (rows, H, W, C) * kernel (KH, KW, C, filters).
template <class Context, class T>
void convolution(Context& context, Window2D const& w, std::size_t filters, std::size_t rows, T const* x,
                 T const* kernel, T* y, Workspace workspace) {
  if (detail::by_row_products<T, Context>(w))
    return detail::RowConvolution<T>(w, filters, workspace).forward(rows, x, kernel, y);
  std::size_t const k = w.taps() * w.channels, positions = w.positions();
  bool const direct = detail::patches_are_input(w);
  std::size_t const chunk = direct ? rows : detail::chunk_rows<T, Context>(w, rows);
  T* const patches = direct ? nullptr : workspace.take<T>(chunk * detail::patch_elements(w));
  detail::for_chunks(rows, chunk, [&](std::size_t first, std::size_t count) {
    T const* const image = x + first * w.input_size();
    if (!direct) kernels::unfold(context, w, count, image, patches);
    context.gemm(Product<T>{.m = count * positions,
                            .n = filters,
                            .k = k,
                            .a = direct ? image : patches,
                            .lda = k,
                            .b = kernel,
                            .ldb = filters,
                            .c = y + first * positions * filters,
                            .ldc = filters});
  });
}

/// kernel_gradient = sum over rows and positions of patch^T dy; dx = dy * kernel^T folded back. Either may be null.
/// `kernel_gradient` is a Gradient, which may change the kernel once it is stated: that is last.
template <class Context, class T, class KernelGradient>
void convolution_backward(Context& context, Window2D const& w, std::size_t filters, std::size_t rows, T const* x,
                          T const* kernel, T const* dy, KernelGradient const& kernel_gradient, T* dx,
                          Workspace workspace) {
  if (detail::by_row_products<T, Context>(w))
    return detail::RowConvolution<T>(w, filters, workspace).backward(rows, x, kernel, dy, kernel_gradient.values(), dx);
  std::size_t const k = w.taps() * w.channels, positions = w.positions();
  bool const direct = detail::patches_are_input(w);
  std::size_t const chunk = direct ? rows : detail::chunk_rows<T, Context>(w, rows);
  T* const patches = direct ? nullptr : workspace.take<T>(chunk * detail::patch_elements(w));
  detail::for_chunks(rows, chunk, [&](std::size_t first, std::size_t count) {
    T const* const image = x + first * w.input_size();
    T const* const output_gradient = dy + first * positions * filters;
    if (dx) {
      T* const input_gradient = dx + first * w.input_size();
      context.gemm(Product<T>{.m = count * positions,
                              .n = k,
                              .k = filters,
                              .a = output_gradient,
                              .lda = filters,
                              .b = kernel,
                              .ldb = filters,
                              .c = direct ? input_gradient : patches,
                              .ldc = k,
                              .transpose_b = true});
      if (!direct) kernels::fold(context, w, count, patches, input_gradient);
    }
    if (!kernel_gradient) return;
    if (!direct) kernels::unfold(context, w, count, image, patches);
    T const* const left = direct ? image : patches;
    if (count == rows) return kernel_gradient.product(context, rows * positions, {left, k}, {output_gradient, filters});
    context.gemm(Product<T>{.m = k,
                            .n = filters,
                            .k = count * positions,
                            .a = left,
                            .lda = k,
                            .b = output_gradient,
                            .ldb = filters,
                            .c = kernel_gradient.values(),
                            .ldc = filters,
                            .transpose_a = true,
                            .accumulate = first > 0});
  });
}

}  // namespace trireme
