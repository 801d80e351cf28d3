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

/// True for convolutions that the library computes faster than products with a matrix of patches do: those of short
/// numbers. For others its kernels copy images into layouts of their own, and take up to three times as long.
template <class Context>
constexpr bool suits_vendor(Window2D const& w, std::size_t rows) {
  return shortens_operands<Context> && rows > 0 && w.positions() > 0 && w.channels > 0 && !patches_are_input(w);
}

/// y = x * kernel, in the layouts of `convolution`. False, and nothing is enqueued, if the library has none for it.
template <class Context, class T>
bool vendor_convolution(Context& context, Window2D const& w, std::size_t filters, std::size_t rows, T const* x,
                        T const* kernel, T* y) {
  constexpr ConvolutionPass pass = ConvolutionPass::forward;
  if (!suits_vendor<Context>(w, rows)) return false;
  auto const& convolutions = context.convolutions();
  auto const plan = convolutions.template plan<T>(
      context.space(), VendorConvolution{pass, w, filters, rows, shortens_operands<Context>}, x, y);
  if (!plan) return false;
  std::size_t const patch = w.taps() * w.channels;
  T* const packed = convolutions.template kernel<T>();
  context.for_each("trireme::transpose_kernel", patch, filters,
                   kernels::TransposeKernel<T>{kernel, packed, patch, filters, false});
  convolutions.template enqueue<T>(context.space(), *plan, x, packed, y);
  return true;
}

/// dx = dy * kernel^T, folded back. False, and nothing is enqueued, if the library has none for it.
template <class Context, class T>
bool vendor_input_gradient(Context& context, Window2D const& w, std::size_t filters, std::size_t rows, T const* kernel,
                           T const* dy, T* dx) {
  constexpr ConvolutionPass pass = ConvolutionPass::input_gradient;
  if (!suits_vendor<Context>(w, rows)) return false;
  auto const& convolutions = context.convolutions();
  auto const plan = convolutions.template plan<T>(
      context.space(), VendorConvolution{pass, w, filters, rows, shortens_operands<Context>}, dx, dy);
  if (!plan) return false;
  std::size_t const patch = w.taps() * w.channels;
  T* const packed = convolutions.template kernel<T>();
  context.for_each("trireme::transpose_kernel", patch, filters,
                   kernels::TransposeKernel<T>{kernel, packed, patch, filters, false});
  convolutions.template enqueue<T>(context.space(), *plan, dx, packed, dy);
  return true;
}

/// kernel_gradient = sum over rows and positions of patch^T dy. False, and nothing is enqueued, if the library has none
/// for it.
template <class Context, class T>
bool vendor_kernel_gradient(Context& context, Window2D const& w, std::size_t filters, std::size_t rows, T const* x,
                            T const* dy, T* kernel_gradient) {
  constexpr ConvolutionPass pass = ConvolutionPass::kernel_gradient;
  if (!suits_vendor<Context>(w, rows)) return false;
  auto const& convolutions = context.convolutions();
  auto const plan = convolutions.template plan<T>(
      context.space(), VendorConvolution{pass, w, filters, rows, shortens_operands<Context>}, x, dy);
  if (!plan) return false;
  std::size_t const patch = w.taps() * w.channels;
  T* const packed = convolutions.template kernel<T>();
  convolutions.template enqueue<T>(context.space(), *plan, x, packed, dy);
  context.for_each("trireme::transpose_kernel", patch, filters,
                   kernels::TransposeKernel<T>{packed, kernel_gradient, patch, filters, true});
  return true;
}

}  // namespace detail

}  // namespace trireme
