/// Convolution by the fastest way for its sizes and context.
#pragma once

#include <algorithm>
#include <cstddef>

#include <Kokkos_Core.hpp>

#include "trireme/backend/convolution/grouped_convolution.hpp"
#include "trireme/backend/convolution/patch_convolution.hpp"
#include "trireme/backend/convolution/row_convolution.hpp"
#include "trireme/backend/convolution/unfolded_convolution.hpp"
#include "trireme/backend/convolution/vendor_convolution.hpp"
#include "trireme/backend/convolution/window.hpp"
#include "trireme/backend/convolution/winograd_convolution.hpp"
#include "trireme/backend/simd/simd_vector.hpp"
#include "trireme/tensor/arena.hpp"

namespace trireme {

namespace detail {

/// unfolded: products over a matrix of patches. rows: products over lines of outputs, sample by sample. winograd, and
/// patches: products over blocks of transformed tiles or of patches.
enum class ConvolutionWay { unfolded, rows, winograd, patches };

/// True if a context runs kernels of this processor's vectors.
template <class Context>
inline constexpr bool computes_in_vectors =
    has_simd &&
    Kokkos::SpaceAccessibility<Kokkos::DefaultHostExecutionSpace, typename Context::memory_space>::accessible;

/// Bytes of a kernel beyond which one thread's row products, which read all of it for each line, are slower than blocks
/// of patches: a core's second cache.
inline constexpr std::size_t row_products_limit = std::size_t{1} << 20;

/// The way for all windows but those that Winograd's transforms fit.
template <class T, class Context>
constexpr ConvolutionWay plain_way(Window2D const& w, std::size_t filters) {
  if (!computes_in_vectors<Context>) return ConvolutionWay::unfolded;
  if (Context::owns_rows)
    return RowConvolution<T>::fits(w) && w.taps() * w.channels * filters * sizeof(T) <= row_products_limit
               ? ConvolutionWay::rows
               : ConvolutionWay::patches;
  if (patches_are_input(w)) return ConvolutionWay::unfolded;
  return GroupedConvolution<T>::fits(w, filters) ? ConvolutionWay::rows : ConvolutionWay::patches;
}

template <class T, class Context>
constexpr ConvolutionWay convolution_way(Window2D const& w, std::size_t filters, std::size_t rows) {
  return computes_in_vectors<Context> && WinogradConvolution<T>::pays(w, filters, rows)
             ? ConvolutionWay::winograd
             : plain_way<T, Context>(w, filters);
}

}  // namespace detail

/// Bytes that convolution and its backward need for a slice of up to `rows`.
template <class T, class Context>
constexpr std::size_t convolution_workspace(Window2D const& w, std::size_t filters, std::size_t rows) {
  using detail::ConvolutionWay;
  std::size_t const winograd = detail::convolution_way<T, Context>(w, filters, rows) == ConvolutionWay::winograd
                                   ? detail::WinogradConvolution<T>::workspace(w, filters, rows)
                                   : 0;
  switch (detail::plain_way<T, Context>(w, filters)) {  // for the rows that are too few for Winograd
    case ConvolutionWay::rows:
      return std::max(winograd, Context::owns_rows ? detail::RowConvolution<T>::workspace(w, filters)
                                                   : detail::GroupedConvolution<T>::workspace(w, filters));
    case ConvolutionWay::patches:
      return std::max(winograd, detail::PatchConvolution<T>::workspace(w, filters));
    default:
      return std::max(winograd, detail::unfolded_workspace<T, Context>(w, rows));
  }
}

/// y (rows, H', W', filters) = x (rows, H, W, C) * kernel (KH, KW, C, filters).
template <class Context, class T>
void convolution(Context& context, Window2D const& w, std::size_t filters, std::size_t rows, T const* x,
                 T const* kernel, T* y, Workspace workspace) {
  if constexpr (detail::computes_in_vectors<Context>) {
    switch (detail::convolution_way<T, Context>(w, filters, rows)) {
      case detail::ConvolutionWay::winograd:
        return detail::WinogradConvolution<T>(w, filters, workspace).forward(context, rows, x, kernel, y);
      case detail::ConvolutionWay::rows:
        if constexpr (Context::owns_rows)
          return detail::RowConvolution<T>(w, filters, workspace).forward(rows, x, kernel, y);
        else
          return detail::GroupedConvolution<T>(w, filters, workspace).forward(context, rows, x, kernel, y);
      case detail::ConvolutionWay::patches:
        return detail::PatchConvolution<T>(w, filters, workspace).forward(context, rows, x, kernel, y);
      case detail::ConvolutionWay::unfolded:
        break;
    }
  }
  if constexpr (detail::HasVendorConvolution<Context>)
    if (detail::vendor_convolution(context, w, filters, rows, x, kernel, y)) return;
  detail::unfolded_convolution(context, w, filters, rows, x, kernel, y, workspace);
}

/// kernel_gradient = sum over rows and positions of patch^T dy; dx = dy * kernel^T folded back. Either may be null.
/// `kernel_gradient` is a Gradient, which may change the kernel once it is stated: that is last.
template <class Context, class T, class KernelGradient>
void convolution_backward(Context& context, Window2D const& w, std::size_t filters, std::size_t rows, T const* x,
                          T const* kernel, T const* dy, KernelGradient const& kernel_gradient, T* dx,
                          Workspace workspace) {
  auto const both = [&](auto const& way) {
    if (dx) way.input_gradient(context, rows, kernel, dy, dx);
    if (kernel_gradient) way.kernel_gradient(context, rows, x, dy, kernel_gradient.values());
  };
  if constexpr (detail::computes_in_vectors<Context>) {
    switch (detail::convolution_way<T, Context>(w, filters, rows)) {
      case detail::ConvolutionWay::winograd:
        return both(detail::WinogradConvolution<T>(w, filters, workspace));
      case detail::ConvolutionWay::rows:
        if constexpr (Context::owns_rows)
          return detail::RowConvolution<T>(w, filters, workspace)
              .backward(rows, x, kernel, dy, kernel_gradient.values(), dx);
        else
          return detail::GroupedConvolution<T>(w, filters, workspace)
              .backward(context, rows, x, kernel, dy, kernel_gradient.values(), dx);
      case detail::ConvolutionWay::patches:
        return both(detail::PatchConvolution<T>(w, filters, workspace));
      case detail::ConvolutionWay::unfolded:
        break;
    }
  }
  if constexpr (detail::HasVendorConvolution<Context>) {
    if (dx && !detail::vendor_input_gradient(context, w, filters, rows, kernel, dy, dx))
      detail::unfolded_convolution_backward(context, w, filters, rows, x, kernel, dy, KernelGradient(), dx, workspace);
    if (kernel_gradient && !detail::vendor_kernel_gradient(context, w, filters, rows, x, dy, kernel_gradient.values()))
      detail::unfolded_convolution_backward(context, w, filters, rows, x, kernel, dy, kernel_gradient,
                                            static_cast<T*>(nullptr), workspace);
  } else {
    detail::unfolded_convolution_backward(context, w, filters, rows, x, kernel, dy, kernel_gradient, dx, workspace);
  }
}

}  // namespace trireme
