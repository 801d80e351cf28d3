/// The gradient of a kernel of 3 x 3 taps in Winograd's domain: products of transformed tiles, summed over all tiles
/// before they are transformed back once.
#pragma once

#include <algorithm>
#include <cstddef>

#include "trireme/backend/convolution/winograd_correlation.hpp"
#include "trireme/backend/convolution/winograd_layout.hpp"
#include "trireme/backend/convolution/winograd_tiles.hpp"
#include "trireme/backend/convolution/winograd_transforms.hpp"
#include "trireme/backend/gemm/pack.hpp"
#include "trireme/backend/gemm/tile_gemm.hpp"
#include "trireme/tensor/arena.hpp"

namespace trireme::detail {

template <class T>
class WinogradKernelGradient {
  using Transforms = WinogradTransforms<T>;

 public:
  static constexpr std::size_t workspace(TileGrid const& grid, std::size_t channels, std::size_t filters) {
    return aligned_bytes(image_elements(grid, channels, filters) * sizeof(T)) +
           aligned_bytes(gradient_elements(grid, channels, filters) * sizeof(T)) +
           aligned_bytes(sum_elements(grid, channels, filters) * sizeof(T));
  }

  /// \param grid  the tiles of the convolution's output
  WinogradKernelGradient(TileGrid const& grid, std::size_t channels, std::size_t filters, T const* x, T const* dy,
                         T* kernel_gradient, Workspace workspace)
      : grid_(grid),
        channels_(channels),
        filters_(filters),
        x_(x),
        dy_(dy),
        kernel_gradient_(kernel_gradient),
        images_(workspace.take<T>(image_elements(grid, channels, filters))),
        gradients_(workspace.take<T>(gradient_elements(grid, channels, filters))),
        sums_(workspace.take<T>(sum_elements(grid, channels, filters))) {}

  template <class Context>
  void run(Context& context) const {
    std::size_t const blocks = channel_blocks(channels_);
    if (at_once(grid_, channels_, filters_)) {
      transform(context, 0, grid_.tiles());
      return context.for_rows("trireme::winograd_kernel_gradient", blocks * panels_.count(), [&](std::size_t i) {
        std::size_t const panel = i / blocks, begin = channels_ * (i % blocks) / blocks,
                          end = channels_ * (i % blocks + 1) / blocks;
        PointMatrices<T> const matrices = panel_matrices<T>(most_channels);
        T* const sums = pack_buffer<T, transformed_sums>(matrices.elements());
        for (std::size_t p = 0; p < Transforms::points; ++p)
          multiply(grid_.tiles(), p, panel, begin, end, sums + p * matrices.distance(), false);
        for (std::size_t c = begin; c < end; ++c)
          finish(panel, c, sums + (c - begin) * panels_.width(panel), matrices.distance());
      });
    }
    for (std::size_t first = 0; first < grid_.tiles(); first += stretch_) {
      std::size_t const count = std::min(stretch_, grid_.tiles() - first);
      transform(context, first, count);
      context.for_rows("trireme::winograd_kernel_gradient", Transforms::points * blocks, [&](std::size_t i) {
        std::size_t const p = i / blocks, begin = channels_ * (i % blocks) / blocks,
                          end = channels_ * (i % blocks + 1) / blocks;
        for (std::size_t panel = 0; panel < panels_.count(); ++panel)
          multiply(count, p, panel, begin, end, sums_of(panel, begin) + p * sum_matrices_.distance(), first > 0);
      });
    }
    context.for_rows("trireme::winograd_kernel_gradient", channels_, [&](std::size_t c) {
      for (std::size_t panel = 0; panel < panels_.count(); ++panel)
        finish(panel, c, sums_of(panel, c), sum_matrices_.distance());
    });
  }

 private:
  /// Channels of a block of sums: with a panel of filters they stay in the second cache for all points.
  static constexpr std::size_t most_channels = 96;
  static constexpr std::size_t channel_blocks(std::size_t channels) {
    return (channels + most_channels - 1) / most_channels;
  }

  /// Tiles whose transforms take as much memory as the sums.
  static constexpr std::size_t balanced_tiles(std::size_t channels, std::size_t filters) {
    return channels * filters / (channels + filters);
  }
  /// True if the sums are the largest: then they are finished block by block, and all tiles are transformed before.
  static constexpr bool at_once(TileGrid const& grid, std::size_t channels, std::size_t filters) {
    return grid.tiles() <= balanced_tiles(channels, filters);
  }
  /// Tiles between two passes over the sums.
  static constexpr std::size_t stretch(TileGrid const& grid, std::size_t channels, std::size_t filters) {
    constexpr std::size_t least = 96;
    return std::min(grid.tiles(), std::max(least, balanced_tiles(channels, filters)));
  }

  static constexpr std::size_t image_elements(TileGrid const& grid, std::size_t channels, std::size_t filters) {
    return tile_matrices<T>(stretch(grid, channels, filters), channels).elements();
  }
  static constexpr std::size_t gradient_elements(TileGrid const& grid, std::size_t channels, std::size_t filters) {
    return Panels<T>{filters}.count() * panel_matrices<T>(stretch(grid, channels, filters)).elements();
  }
  static constexpr std::size_t sum_elements(TileGrid const& grid, std::size_t channels, std::size_t filters) {
    return at_once(grid, channels, filters) ? 0 : Panels<T>{filters}.count() * panel_matrices<T>(channels).elements();
  }
  T* sums_of(std::size_t panel, std::size_t channel) const {
    return sums_ + panel * sum_matrices_.elements() + channel * panels_.width(panel);
  }

  /// `count` tiles from `first` on, of the images and of dy.
  template <class Context>
  void transform(Context& context, std::size_t first, std::size_t count) const {
    context.for_rows("trireme::winograd_tiles", count, [&](std::size_t i) {
      T const* const outside = pack_buffer<T, zeros>(std::max(channels_, filters_));
      T const* pixels[16];
      tile_pixels(grid_, first + i, x_, channels_, outside, pixels);
      Transforms::image(pixels, channels_, images_ + i * image_matrices_.row_size, image_matrices_.distance());
      T const* outputs[4];
      for (std::size_t panel = 0; panel < panels_.count(); ++panel) {
        tile_outputs(grid_, first + i, dy_, filters_, outside, outputs);
        for (T const*& output : outputs)
          if (output != outside) output += panel * Panels<T>::most;
        Transforms::output_gradient(outputs, panels_.columns(panel),
                                    gradients_ + panel * gradient_matrices_.elements() + i * panels_.width(panel),
                                    gradient_matrices_.distance());
      }
    });
  }

  /// sums (end - begin, width), or += …, of one point and panel over `tiles` transformed tiles.
  void multiply(std::size_t tiles, std::size_t point, std::size_t panel, std::size_t begin, std::size_t end, T* sums,
                bool accumulate) const {
    std::size_t const width = panels_.width(panel);
    TileGemm<T>::run({.m = end - begin,
                      .n = width,
                      .a = {.first = images_ + point * image_matrices_.distance() + begin,
                            .row_stride = 1,
                            .step = image_matrices_.row_size,
                            .segment = tiles},
                      .b = gradients_ + panel * gradient_matrices_.elements() + point * gradient_matrices_.distance(),
                      .ldb = width,
                      .c = sums,
                      .ldc = width,
                      .accumulate = accumulate});
  }

  void finish(std::size_t panel, std::size_t channel, T const* sums, std::size_t distance) const {
    Transforms::kernel_gradient(sums, distance, panels_.columns(panel),
                                kernel_gradient_ + channel * filters_ + panel * Panels<T>::most, channels_ * filters_);
  }

  TileGrid grid_;
  std::size_t channels_, filters_;
  T const* x_;
  T const* dy_;
  T* kernel_gradient_;
  T* images_;
  T* gradients_;
  T* sums_;
  std::size_t stretch_ = stretch(grid_, channels_, filters_);
  Panels<T> panels_{filters_};
  PointMatrices<T> image_matrices_ = tile_matrices<T>(stretch_, channels_);
  PointMatrices<T> gradient_matrices_ = panel_matrices<T>(stretch_);
  PointMatrices<T> sum_matrices_ = panel_matrices<T>(channels_);
};

}  // namespace trireme::detail
