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

/// 16 multiplications for what takes 36 otherwise. Sums run over channels alone, so that errors are below those of sums
/// over all of a patch: (1.0 … 2.8) 10^-7 of the result's norm for 64 … 512 channels at twice their speed; and they do
/// not depend on the number of threads.
template <class T>
class WinogradConvolution {
  using Forward = WinogradCorrelation<T, ForwardKernel<T>>;
  using InputGradient = WinogradCorrelation<T, RotatedKernel<T>>;
  using KernelGradient = WinogradKernelGradient<T>;

 public:
  static constexpr bool fits(Window2D const& w) { return fits(w.height) && fits(w.width); }

  /// Measured on Zen 4 with AVX-512, one thread: with 8 channels transforms take longer than they save, with 16 it is
  /// 1.3 times as fast as row products, with 32 1.7 times and with 64 to 512 twice. Below 16 tiles the kernel's
  /// transform is not paid back; tiles that lie beyond small images may cost a quarter of what is saved.
  static constexpr bool pays(Window2D const& w, std::size_t filters, std::size_t rows) {
    constexpr std::size_t least_channels = 16, least_tiles = 16;
    TileGrid const grid = output_tiles(w, rows);
    return fits(w) && std::min(w.channels, filters) >= least_channels && grid.tiles() >= least_tiles &&
           4 * 16 * grid.per_sample() <= 3 * 9 * w.positions();
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
