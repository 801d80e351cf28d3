/// Convolution with windows of 3 x 3 by Winograd's F(2 x 2, 3 x 3), where it is faster than products over patches.
#pragma once

#include <algorithm>
#include <cstddef>

#include "trireme/backend/convolution/window.hpp"
#include "trireme/backend/convolution/winograd_correlation.hpp"
#include "trireme/backend/convolution/winograd_kernel_gradient.hpp"
#include "trireme/backend/convolution/winograd_tiles.hpp"
#include "trireme/tensor/arena.hpp"

namespace trireme::detail {

/// 16 multiplications instead of 36. Results do not depend on the number of threads. Measured in float against double,
/// images of 32 x 32 x 64 to 4 x 4 x 512, batches of 32: forward and the input's gradient are off by (2.6 … 7.4) 10^-7
/// of their norm, sums over whole patches in order by (4.2 … 10.5) 10^-7, those of OpenBLAS by (1.6 … 4.1) 10^-7; the
/// kernel's gradient by (3.3 … 4.2) 10^-7, products over patches by (1.2 … 6.0) 10^-7.
template <class T>
class WinogradConvolution {
  using Forward = WinogradCorrelation<T, ForwardKernel<T>>;
  using InputGradient = WinogradCorrelation<T, RotatedKernel<T>>;
  using KernelGradient = WinogradKernelGradient<T>;

 public:
  static constexpr bool fits(Window2D const& w) { return fits(w.height) && fits(w.width); }

  /// Measured on Zen 4 with AVX-512, one thread: with 8 channels transforms take longer than they save; with 16 it is
  /// 1.2 to 1.5 times as fast as row products, with 32 about 1.7 times, with 64 to 512 mostly 1.6 to 2 times. Below 16
  /// tiles the kernel's transform is not paid back. The tiles' multiplications, with those beyond small images, have to
  /// stay below three quarters of the direct ones: the rest is for transforms.
  static constexpr bool pays(Window2D const& w, std::size_t filters, std::size_t rows) {
    constexpr std::size_t least_channels = 16, least_tiles = 16, products_of_tile = 16, products_of_position = 9;
    TileGrid const grid = output_tiles(w, rows);
    return fits(w) && std::min(w.channels, filters) >= least_channels && grid.tiles() >= least_tiles &&
           4 * products_of_tile * grid.per_sample() <= 3 * products_of_position * w.positions();
  }

  /// Enough for up to `rows` samples.
  static constexpr std::size_t workspace(Window2D const& w, std::size_t filters, std::size_t rows) {
    return std::max({Forward::workspace(output_tiles(w, rows), w.channels, filters),
                     InputGradient::workspace(input_tiles(w, rows), filters, w.channels),
                     KernelGradient::workspace(output_tiles(w, rows), w.channels, filters)});
  }

  WinogradConvolution(Window2D const& w, std::size_t filters, Workspace workspace)
      : w_(w), filters_(filters), workspace_(workspace) {}

  template <class Context>
  void forward(Context& context, std::size_t rows, T const* x, T const* kernel, T* y) const {
    Forward(output_tiles(w_, rows), {kernel, w_.channels, filters_}, x, y, workspace_).run(context);
  }
  template <class Context>
  void input_gradient(Context& context, std::size_t rows, T const* kernel, T const* dy, T* dx) const {
    InputGradient(input_tiles(w_, rows), {kernel, w_.channels, filters_}, dy, dx, workspace_).run(context);
  }
  template <class Context>
  void kernel_gradient(Context& context, std::size_t rows, T const* x, T const* dy, T* gradient) const {
    KernelGradient(output_tiles(w_, rows), w_.channels, filters_, x, dy, gradient, workspace_).run(context);
  }

 private:
  static constexpr bool fits(WindowAxis const& axis) {
    return axis.window == 3 && axis.stride == 1 && axis.dilation == 1 && axis.padding <= 2;
  }

  Window2D w_;
  std::size_t filters_;
  Workspace workspace_;
};

}  // namespace trireme::detail
