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

/// A task computes a block of channels times filters over a group of tiles, and transforms what it needs for that in
/// memory of its thread: transforms of others would come from another core's cache. Where there are few blocks, several
/// groups have sums of their own, which are added up in order.
template <class T>
class WinogradKernelGradient {
  using Transforms = WinogradTransforms<T>;

 public:
  static constexpr std::size_t workspace(TileGrid const& grid, std::size_t channels, std::size_t filters) {
    return aligned_bytes(sum_elements(grid, channels, filters) * sizeof(T));
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
        sums_(workspace.take<T>(sum_elements(grid, channels, filters))) {}

  template <class Context>
  void run(Context& context) const {
    std::size_t const per_group = block_count(channels_, filters_);
    context.for_rows("trireme::winograd_kernel_gradient", per_group * groups_, [&](std::size_t task) {
      std::size_t const group = task / per_group, block = task % per_group, across = filter_blocks(filters_);
      add_products(group, part(channels_, block / across, channel_blocks(channels_)), block % across);
    });
    if (groups_ == 1) return;
    context.for_rows("trireme::winograd_kernel_gradient", channels_, [&](std::size_t c) {
      for (std::size_t panel = 0; panel < panels_.count(); ++panel) {
        std::size_t const width = panels_.width(panel), distance = sum_matrices_.distance();
        T* const total = sums_of(0, panel) + c * width;
        for (std::size_t group = 1; group < groups_; ++group)
          for (std::size_t p = 0; p < Transforms::points; ++p) {
            T const* const other = sums_of(group, panel) + p * distance + c * width;
            for (std::size_t k = 0; k < width; ++k) total[p * distance + k] += other[k];
          }
        finish(panel, c, total, distance);
      }
    });
  }

 private:
  /// Tiles between two passes over the sums, and channels of a block: their transforms and a panel of sums share the
  /// second cache.
  static constexpr std::size_t stretch = 64, most_channels = 64;
  /// Blocks times groups that are there for threads, at least, where there are enough tiles.
  static constexpr std::size_t wanted_tasks = 8;

  struct Part {
    std::size_t begin, end;
  };
  static constexpr Part part(std::size_t extent, std::size_t index, std::size_t count) {
    return {extent * index / count, extent * (index + 1) / count};
  }
  static constexpr std::size_t channel_blocks(std::size_t channels) {
    return (channels + most_channels - 1) / most_channels;
  }
  /// Blocks of one panel, or two where that leaves enough tasks: all channels are transformed for each of them.
  static constexpr std::size_t filter_blocks(std::size_t filters) {
    std::size_t const panels = Panels<T>{filters}.count();
    return panels <= 2 ? panels : (panels + 1) / 2;
  }
  static constexpr std::size_t block_count(std::size_t channels, std::size_t filters) {
    return channel_blocks(channels) * filter_blocks(filters);
  }
  static constexpr std::size_t groups(TileGrid const& grid, std::size_t channels, std::size_t filters) {
    std::size_t const wanted = (wanted_tasks + block_count(channels, filters) - 1) / block_count(channels, filters);
    return std::clamp<std::size_t>(grid.tiles() / stretch, 1, wanted);
  }
  static constexpr std::size_t sum_elements(TileGrid const& grid, std::size_t channels, std::size_t filters) {
    std::size_t const count = groups(grid, channels, filters);
    return count > 1 ? count * Panels<T>{filters}.count() * panel_matrices<T>(channels).elements() : 0;
  }
  T* sums_of(std::size_t group, std::size_t panel) const {
    return sums_ + (group * panels_.count() + panel) * sum_matrices_.elements();
  }

  void add_products(std::size_t group, Part channels, std::size_t block) const {
    Part const tiles = part(grid_.tiles(), group, groups_),
               panels = part(panels_.count(), block, filter_blocks(filters_));
    std::size_t const height = channels.end - channels.begin;
    PointMatrices<T> const image_matrices = tile_matrices<T>(stretch, height),
                           gradient_matrices = panel_matrices<T>(stretch),
                           sum_matrices = groups_ > 1 ? sum_matrices_ : panel_matrices<T>(height);
    T* const images = pack_buffer<T, transformed_tiles>(image_matrices.elements());
    T* const gradients = pack_buffer<T, transformed_kernel>(gradient_matrices.elements());
    T* const own =
        groups_ > 1 ? nullptr : pack_buffer<T, transformed_sums>((panels.end - panels.begin) * sum_matrices.elements());
    auto const sums = [&](std::size_t panel) {
      return own ? own + (panel - panels.begin) * sum_matrices.elements()
                 : sums_of(group, panel) + channels.begin * panels_.width(panel);
    };
    for (std::size_t first = tiles.begin; first < tiles.end; first += stretch) {
      std::size_t const count = std::min(stretch, tiles.end - first);
      transform_images(first, count, channels, images, image_matrices);
      for (std::size_t panel = panels.begin; panel < panels.end; ++panel) {
        std::size_t const width = panels_.width(panel);
        transform_gradients(first, count, panel, gradients, gradient_matrices);
        for (std::size_t p = 0; p < Transforms::points; ++p)
          TileGemm<T>::run({.m = height,
                            .n = width,
                            .a = {.first = images + p * image_matrices.distance(),
                                  .row_stride = 1,
                                  .step = image_matrices.row_size,
                                  .segment = count},
                            .b = gradients + p * gradient_matrices.distance(),
                            .ldb = width,
                            .c = sums(panel) + p * sum_matrices.distance(),
                            .ldc = width,
                            .accumulate = first > tiles.begin});
      }
    }
    if (!own) return;
    for (std::size_t panel = panels.begin; panel < panels.end; ++panel)
      for (std::size_t c = channels.begin; c < channels.end; ++c)
        finish(panel, c, sums(panel) + (c - channels.begin) * panels_.width(panel), sum_matrices.distance());
  }

  void transform_images(std::size_t first, std::size_t count, Part channels, T* to,
                        PointMatrices<T> const& matrices) const {
    T const* const outside = pack_buffer<T, zeros>(channels_);
    for (std::size_t i = 0; i < count; ++i) {
      T const* pixels[16];
      tile_pixels(grid_, first + i, x_, channels_, outside, pixels);
      for (T const*& pixel : pixels) pixel += channels.begin;
      Transforms::image(pixels, channels.end - channels.begin, to + i * matrices.row_size, matrices.distance());
    }
  }
  void transform_gradients(std::size_t first, std::size_t count, std::size_t panel, T* to,
                           PointMatrices<T> const& matrices) const {
    T const* const outside = pack_buffer<T, zeros>(filters_);
    for (std::size_t i = 0; i < count; ++i) {
      T const* pixels[4];
      tile_outputs(grid_, first + i, dy_, filters_, outside, pixels);
      for (T const*& pixel : pixels) pixel += panel * Panels<T>::most;
      Transforms::output_gradient(pixels, panels_.columns(panel), to + i * panels_.width(panel), matrices.distance());
    }
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
  T* sums_;
  std::size_t groups_ = groups(grid_, channels_, filters_);
  Panels<T> panels_{filters_};
  PointMatrices<T> sum_matrices_ = panel_matrices<T>(channels_);
};

}  // namespace trireme::detail
