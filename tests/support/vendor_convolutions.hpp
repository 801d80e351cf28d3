/// Convolutions of a vendor's library for the device in software, in the vendor's layout and by the definition.
/// Included before any context of the device is used.
#pragma once

#include "support/device.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include <Kokkos_Core.hpp>

#include "trireme/backend/convolution/convolution_pass.hpp"
#include "trireme/backend/convolution/device_convolution.hpp"
#include "trireme/backend/convolution/window.hpp"

namespace trireme::test {

/// Passes that were enqueued in this process. Only the device in software counts them.
inline std::size_t vendor_convolutions = 0;
#if defined(KOKKOS_ENABLE_CUDA) || defined(KOKKOS_ENABLE_HIP)
inline constexpr bool counts_vendor_convolutions = false;
#else
inline constexpr bool counts_vendor_convolutions = true;
#endif

/// Passes without a plan in the library on the device in software.
enum class VendorLacks { nothing, kernel_gradients };
inline VendorLacks vendor_lacks = VendorLacks::nothing;

}  // namespace trireme::test

#if !defined(KOKKOS_ENABLE_CUDA) && !defined(KOKKOS_ENABLE_HIP)

namespace trireme::test {

/// The place of input that a tap of an output reads, as an offset below `in`; `in` where it is padding.
KOKKOS_FUNCTION inline std::size_t tapped(WindowAxis const& axis, std::size_t output, std::size_t tap) {
  std::size_t const padded = output * axis.stride + tap * axis.dilation;
  return padded < axis.padding || padded - axis.padding >= axis.in ? axis.in : padded - axis.padding;
}

/// One element of the result of a pass: a sum over all that contribute to it.
template <class T>
struct VendorConvolutionKernel {
  detail::VendorConvolution c;
  T *x, *kernel, *y;  ///< (rows, H, W, C), (filters, KH, KW, C), (rows, H', W', filters)

  KOKKOS_FUNCTION void operator()(std::size_t e) const {
    Window2D const& w = c.window;
    T sum = 0;
    bool const forward = c.pass == detail::ConvolutionPass::forward;
    bool const to_input = c.pass == detail::ConvolutionPass::input_gradient;
    auto const add = [&](std::size_t row, std::size_t i, std::size_t j, std::size_t filter, std::size_t u,
                         std::size_t v, std::size_t channel) {
      std::size_t const line = tapped(w.height, i, u), column = tapped(w.width, j, v);
      if (line == w.height.in || column == w.width.in) return;
      std::size_t const image = ((row * w.height.in + line) * w.width.in + column) * w.channels + channel;
      std::size_t const weight = ((filter * w.height.window + u) * w.width.window + v) * w.channels + channel;
      std::size_t const output = ((row * w.height.out + i) * w.width.out + j) * c.filters + filter;
      if (forward && output == e) sum += x[image] * kernel[weight];
      if (to_input && image == e) sum += y[output] * kernel[weight];
      if (!forward && !to_input && weight == e) sum += x[image] * y[output];
    };
    for (std::size_t row = 0; row < c.rows; ++row)
      for (std::size_t i = 0; i < w.height.out; ++i)
        for (std::size_t j = 0; j < w.width.out; ++j)
          for (std::size_t filter = 0; filter < c.filters; ++filter) {
            if (forward && ((row * w.height.out + i) * w.width.out + j) * c.filters + filter != e) continue;
            for (std::size_t u = 0; u < w.height.window; ++u)
              for (std::size_t v = 0; v < w.width.window; ++v)
                for (std::size_t channel = 0; channel < w.channels; ++channel) add(row, i, j, filter, u, v, channel);
          }
    (forward ? y : to_input ? x : kernel)[e] = sum;
  }
};

}  // namespace trireme::test

namespace trireme::detail {

template <>
class DeviceConvolution<test::TwinDevice> {
 public:
  static constexpr bool available = true;
  struct Plan {
    VendorConvolution convolution;
  };

  explicit DeviceConvolution(test::TwinDevice const&) : kernel_(std::make_shared<Memory>()) {}

  template <class T>
  std::shared_ptr<Plan const> plan(test::TwinDevice const& space, VendorConvolution const& c, T const*,
                                   T const*) const {
    if (test::vendor_lacks == test::VendorLacks::kernel_gradients && c.pass == ConvolutionPass::kernel_gradient)
      return nullptr;
    std::size_t const bytes = c.window.taps() * c.window.channels * c.filters * sizeof(T);
    if (kernel_->extent(0) < bytes)
      *kernel_ = Memory(Kokkos::view_alloc(space, Kokkos::WithoutInitializing, "k"), bytes);
    return std::make_shared<Plan const>(Plan{c});
  }
  template <class T>
  T* kernel() const {
    return reinterpret_cast<T*>(kernel_->data());
  }
  template <class T>
  void enqueue(test::TwinDevice const& space, Plan const& plan, T const* x, T const* kernel, T const* y) const {
    VendorConvolution const& c = plan.convolution;
    Window2D const& w = c.window;
    std::size_t const results = c.pass == ConvolutionPass::forward          ? c.rows * w.positions() * c.filters
                                : c.pass == ConvolutionPass::input_gradient ? c.rows * w.input_size()
                                                                            : w.taps() * w.channels * c.filters;
    using Indices = Kokkos::RangePolicy<test::TwinDevice, Kokkos::IndexType<std::size_t>>;
    Kokkos::parallel_for(
        "vendor", Indices(space, 0, results),
        test::VendorConvolutionKernel<T>{c, const_cast<T*>(x), const_cast<T*>(kernel), const_cast<T*>(y)});
    ++test::vendor_convolutions;
  }
  void list_addresses(std::vector<std::uint64_t>& all) const {
    all.push_back(reinterpret_cast<std::uintptr_t>(kernel_->data()));
  }

 private:
  using Memory = Kokkos::View<std::byte*, test::TwinMemory>;
  std::shared_ptr<Memory> kernel_;
};

}  // namespace trireme::detail

#endif
