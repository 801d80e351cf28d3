/// Convolution by products over unfolded patches: on devices, and on hosts whose products go to the BLAS.
#pragma once

#include <algorithm>
#include <cstddef>

#include "trireme/backend/convolution/patch_kernels.hpp"
#include "trireme/backend/convolution/window.hpp"
#include "trireme/backend/gemm/product.hpp"
#include "trireme/tensor/arena.hpp"

namespace trireme::detail {

/// Elements of the patches of one sample: one row per output position, the taps' channels in it.
constexpr std::size_t patch_elements(Window2D const& w) { return w.positions() * w.taps() * w.channels; }

template <class T, class Context>
constexpr std::size_t chunk_rows(Window2D const& w, std::size_t rows) {
  return std::min(rows, Context::convolution_chunk(patch_elements(w) * sizeof(T)));
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

template <class T, class Context>
constexpr std::size_t unfolded_workspace(Window2D const& w, std::size_t rows) {
  if (patches_are_input(w)) return 0;
  return aligned_bytes(chunk_rows<T, Context>(w, rows) * patch_elements(w) * sizeof(T));
}

/// `multiply` computes the product of each chunk of samples, whose c are the chunk's rows of y.
template <class Context, class T, class Multiply>
void unfolded_convolution(Context& context, Window2D const& w, std::size_t filters, std::size_t rows, T const* x,
                          T const* kernel, T* y, Workspace workspace, Multiply const& multiply) {
  std::size_t const k = w.taps() * w.channels, positions = w.positions();
  bool const direct = patches_are_input(w);
  std::size_t const chunk = direct ? rows : chunk_rows<T, Context>(w, rows);
  T* const patches = direct ? nullptr : workspace.take<T>(chunk * patch_elements(w));
  for_chunks(rows, chunk, [&](std::size_t first, std::size_t count) {
    T const* const image = x + first * w.input_size();
    if (!direct) kernels::unfold(context, w, count, image, patches);
    multiply(Product<T>{.m = count * positions,
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
template <class Context, class T>
void unfolded_convolution(Context& context, Window2D const& w, std::size_t filters, std::size_t rows, T const* x,
                          T const* kernel, T* y, Workspace workspace) {
  unfolded_convolution(context, w, filters, rows, x, kernel, y, workspace,
                       [&](Product<T> const& product) { context.gemm(product); });
}

template <class Context, class T, class KernelGradient>
void unfolded_convolution_backward(Context& context, Window2D const& w, std::size_t filters, std::size_t rows,
                                   T const* x, T const* kernel, T const* dy, KernelGradient const& kernel_gradient,
                                   T* dx, Workspace workspace) {
  std::size_t const k = w.taps() * w.channels, positions = w.positions();
  bool const direct = patches_are_input(w);
  std::size_t const chunk = direct ? rows : chunk_rows<T, Context>(w, rows);
  T* const patches = direct ? nullptr : workspace.take<T>(chunk * patch_elements(w));
  for_chunks(rows, chunk, [&](std::size_t first, std::size_t count) {
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

}  // namespace trireme::detail
