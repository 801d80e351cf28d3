/// Convolution by a vendor's library on devices that have one: images stay where they are, without a matrix of patches,
/// and the kernel, which is small, changes its layout.
#pragma once

#include <cstddef>
#include <type_traits>

#include <Kokkos_Macros.hpp>

#include "trireme/backend/convolution/convolution_pass.hpp"
#include "trireme/backend/convolution/unfolded_convolution.hpp"
#include "trireme/backend/convolution/window.hpp"

namespace trireme {

namespace kernels {

/// Copies a kernel (taps, channels, filters) as (filters, taps, channels), or back.
template <class T>
struct TransposeKernel {
  T const* from;
  T* to;
  std::size_t patch, filters;  ///< patch: taps times channels
  bool back;
  KOKKOS_FUNCTION void operator()(std::size_t i, std::size_t filter) const {
    std::size_t const ours = i * filters + filter, vendors = filter * patch + i;
    if (back)
      to[ours] = from[vendors];
    else
      to[vendors] = from[ours];
  }
};

}  // namespace kernels

namespace detail {

/// True for contexts of a device whose vendor's library computes convolutions.
template <class Context>
concept HasVendorConvolution =
    requires(Context& context) { requires std::remove_cvref_t<decltype(context.convolutions())>::available; };

/// True for contexts of Mixed precision whose operands a device may take for short numbers.
template <class Context>
inline constexpr bool shortens_operands = [] {
  if constexpr (requires { Context::short_operands; }) return Context::short_operands;
  return false;
}();

/// Products, which take a bias and an activation along, are as good where the patches are the input.
constexpr bool suits_vendor(Window2D const& w, std::size_t rows) {
  return rows > 0 && w.positions() > 0 && w.channels > 0 && !patches_are_input(w);
}

/// y = x * kernel, in the layouts of `convolution`. False, and nothing is enqueued, if the library has none for it.
template <class Context, class T>
bool vendor_convolution(Context& context, Window2D const& w, std::size_t filters, std::size_t rows, T const* x,
                        T const* kernel, T* y) {
  if (!suits_vendor(w, rows)) return false;
  auto const& convolutions = context.convolutions();
  auto const plan = convolutions.template plan<T>(
      context.space(), VendorConvolution{ConvolutionPass::forward, w, filters, rows, shortens_operands<Context>}, x, y);
  if (!plan) return false;
  std::size_t const patch = w.taps() * w.channels;
  T* const packed = convolutions.template kernel<T>();
  context.for_each("trireme::transpose_kernel", patch, filters,
                   kernels::TransposeKernel<T>{kernel, packed, patch, filters, false});
  convolutions.template enqueue<T>(context.space(), *plan, x, packed, y);
  return true;
}

/// The gradients of `convolution_backward`. False, and nothing is enqueued, if the library lacks one of them.
template <class Context, class T, class KernelGradient>
bool vendor_convolution_backward(Context& context, Window2D const& w, std::size_t filters, std::size_t rows, T const* x,
                                 T const* kernel, T const* dy, KernelGradient const& kernel_gradient, T* dx) {
  if (!suits_vendor(w, rows)) return false;
  auto const& convolutions = context.convolutions();
  auto const plan_for = [&](ConvolutionPass pass, T const* images) {
    return convolutions.template plan<T>(
        context.space(), VendorConvolution{pass, w, filters, rows, shortens_operands<Context>}, images, dy);
  };
  auto const input_plan = dx ? plan_for(ConvolutionPass::input_gradient, dx) : nullptr;
  auto const kernel_plan = kernel_gradient ? plan_for(ConvolutionPass::kernel_gradient, x) : nullptr;
  if ((dx && !input_plan) || (kernel_gradient && !kernel_plan)) return false;
  std::size_t const patch = w.taps() * w.channels;
  T* const packed = convolutions.template kernel<T>();
  if (dx) {
    context.for_each("trireme::transpose_kernel", patch, filters,
                     kernels::TransposeKernel<T>{kernel, packed, patch, filters, false});
    convolutions.template enqueue<T>(context.space(), *input_plan, dx, packed, dy);
  }
  if (kernel_gradient) {
    convolutions.template enqueue<T>(context.space(), *kernel_plan, x, packed, dy);
    context.for_each("trireme::transpose_kernel", patch, filters,
                     kernels::TransposeKernel<T>{packed, kernel_gradient.values(), patch, filters, true});
  }
  return true;
}

}  // namespace detail

}  // namespace trireme
