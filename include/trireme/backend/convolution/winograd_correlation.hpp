/// Correlation of images with kernels of 3 x 3 taps by Winograd's F(2 x 2, 3 x 3): forward of a convolution, and its
/// input's gradient.
#pragma once

#include <algorithm>
#include <cstddef>

#include "trireme/backend/convolution/winograd_layout.hpp"
#include "trireme/backend/convolution/winograd_tiles.hpp"
#include "trireme/backend/convolution/winograd_transforms.hpp"
#include "trireme/backend/gemm/pack.hpp"
#include "trireme/backend/gemm/tile_gemm.hpp"
#include "trireme/backend/simd/simd_vector.hpp"
#include "trireme/tensor/arena.hpp"

namespace trireme::detail {

/// Memory of a thread that pack_buffer keeps; what lies in `zeros` is never written.
enum WinogradBuffer : int { transformed_tiles = 4, transformed_kernel = 5, transformed_sums = 6, zeros = 7 };

/// Kernel (3, 3, C, K) as it is: from C channels to K.
template <class T>
struct ForwardKernel {
  T const* taps;
  std::size_t channels, filters;

  constexpr std::size_t inputs() const { return channels; }
  constexpr std::size_t outputs() const { return filters; }

  /// Row i of `to` (inputs, width) for i in [begin, end), of the outputs [first, first + count).
  void transform(std::size_t begin, std::size_t end, std::size_t first, std::size_t count, T* to, std::size_t width,
                 std::size_t distance) const {
    for (std::size_t c = begin; c < end; ++c)
      WinogradTransforms<T>::kernel(taps + c * filters + first, channels * filters, count, to + c * width, distance);
  }
};

/// The same kernel rotated by half a turn and transposed: from K channels to C.
template <class T>
struct RotatedKernel {
  T const* taps;
  std::size_t channels, filters;
  static constexpr std::size_t lanes = SimdVector<T>::lanes;

  constexpr std::size_t inputs() const { return filters; }
  constexpr std::size_t outputs() const { return channels; }

  void transform(std::size_t begin, std::size_t end, std::size_t first, std::size_t count, T* to, std::size_t width,
                 std::size_t distance) const {
    alignas(64) T square[9 * lanes * lanes];
    for (std::size_t c = 0; c < count; c += lanes)
      for (std::size_t k = begin; k < end; k += lanes) {
        std::size_t const columns = std::min(lanes, count - c), rows = std::min(lanes, end - k);
        for (std::size_t tap = 0; tap < 9; ++tap)
          transpose_block(taps + (tap * channels + first + c) * filters + k, columns, rows,
                          square + (8 - tap) * lanes * lanes);
        for (std::size_t i = 0; i < rows; ++i)
          WinogradTransforms<T>::kernel(square + i * lanes, lanes * lanes, lanes, to + (k + i) * width + c, distance);
      }
  }

 private:
  /// to (rows, lanes) = the transposed of from (columns, rows), with zeros where that has no column.
  void transpose_block(T const* from, std::size_t columns, std::size_t rows, T* to) const {
    if (columns == lanes && rows == lanes)
      return SquareTransposition<T>::run([&](std::size_t i) { return from + i * filters; }, to, lanes);
    for (std::size_t r = 0; r < rows; ++r)
      for (std::size_t c = 0; c < lanes; ++c) to[r * lanes + c] = c < columns ? from[c * filters + r] : T{0};
  }
};

template <class T, class Kernel>
class WinogradCorrelation {
  using Transforms = WinogradTransforms<T>;

 public:
  static constexpr std::size_t workspace(TileGrid const& grid, std::size_t inputs, std::size_t outputs) {
    return aligned_bytes(elements(grid, inputs, outputs) * sizeof(T));
  }

  WinogradCorrelation(TileGrid const& grid, Kernel const& kernel, T const* x, T* y, Workspace workspace)
      : grid_(grid),
        kernel_(kernel),
        x_(x),
        y_(y),
        shared_(workspace.take<T>(elements(grid, kernel.inputs(), kernel.outputs()))) {}

  /// The larger operand is transformed piece by piece, where its piece is used: so it never leaves the cache.
  template <class Context>
  void run(Context& context) const {
    if (shares_kernel(grid_, kernel_.outputs())) {
      std::size_t const pieces = (kernel_.inputs() + piece - 1) / piece;
      context.for_rows("trireme::winograd_kernel", panels_.count() * pieces, [&](std::size_t i) {
        std::size_t const panel = i / pieces, begin = i % pieces * piece;
        transform_kernel(panel, begin, std::min(kernel_.inputs(), begin + piece),
                         shared_ + panel * kernel_matrices_.elements());
      });
      context.for_rows("trireme::winograd_tiles", blocks_.count(), [&](std::size_t block) {
        T* const tiles = pack_buffer<T, transformed_tiles>(tile_matrices_.elements());
        transform_tiles(block, tiles);
        for (std::size_t panel = 0; panel < panels_.count(); ++panel)
          multiply(block, tiles, panel, shared_ + panel * kernel_matrices_.elements());
      });
    } else {
      context.for_rows("trireme::winograd_tiles", blocks_.count(),
                       [&](std::size_t block) { transform_tiles(block, shared_ + block * tile_matrices_.elements()); });
      context.for_rows("trireme::winograd_kernel", panels_.count(), [&](std::size_t panel) {
        T* const transformed = pack_buffer<T, transformed_kernel>(kernel_matrices_.elements());
        transform_kernel(panel, 0, kernel_.inputs(), transformed);
        for (std::size_t block = 0; block < blocks_.count(); ++block)
          multiply(block, shared_ + block * tile_matrices_.elements(), panel, transformed);
      });
    }
  }

 private:
  /// Channels of a kernel that a thread transforms at once.
  static constexpr std::size_t piece = 64;

  /// True if the transformed tiles are larger than the transformed kernel.
  static constexpr bool shares_kernel(TileGrid const& grid, std::size_t outputs) { return grid.tiles() > outputs; }
  /// Never less for more samples.
  static constexpr std::size_t elements(TileGrid const& grid, std::size_t inputs, std::size_t outputs) {
    TileBlocks const blocks{std::min(grid.tiles(), outputs)};
    std::size_t const tiles = blocks.count() * tile_matrices<T>(blocks.largest(), inputs).elements();
    std::size_t const kernel = Panels<T>{outputs}.count() * panel_matrices<T>(inputs).elements();
    return shares_kernel(grid, outputs) ? std::max(tiles, kernel) : tiles;
  }

  void transform_kernel(std::size_t panel, std::size_t begin, std::size_t end, T* to) const {
    kernel_.transform(begin, end, panel * Panels<T>::most, panels_.columns(panel), to, panels_.width(panel),
                      kernel_matrices_.distance());
  }

  void transform_tiles(std::size_t block, T* to) const {
    T const* const outside = pack_buffer<T, zeros>(kernel_.inputs());
    std::size_t const first = blocks_.begin(block), end = blocks_.begin(block + 1);
    for (std::size_t tile = first; tile < end; ++tile, to += tile_matrices_.row_size) {
      T const* pixels[16];
      tile_pixels(grid_, tile, x_, kernel_.inputs(), outside, pixels);
      Transforms::image(pixels, kernel_.inputs(), to, tile_matrices_.distance());
    }
  }

  /// The outputs of a block of tiles in a panel of channels.
  void multiply(std::size_t block, T const* tiles, std::size_t panel, T const* kernel) const {
    std::size_t const first = blocks_.begin(block), count = blocks_.begin(block + 1) - first,
                      width = panels_.width(panel), distance = sum_matrices_.distance();
    T* const sums = pack_buffer<T, transformed_sums>(sum_matrices_.elements());
    for (std::size_t p = 0; p < Transforms::points; ++p)
      TileGemm<T>::run({.m = count,
                        .n = width,
                        .a = {.first = tiles + p * tile_matrices_.distance(),
                              .row_stride = tile_matrices_.row_size,
                              .step = 1,
                              .segment = kernel_.inputs()},
                        .b = kernel + p * kernel_matrices_.distance(),
                        .ldb = width,
                        .c = sums + p * distance,
                        .ldc = width});
    for (std::size_t i = 0; i < count; ++i) {
      T* pixels[4];
      tile_outputs(grid_, first + i, y_ + panel * Panels<T>::most, kernel_.outputs(), static_cast<T*>(nullptr), pixels);
      Transforms::output(sums + i * width, distance, panels_.columns(panel), pixels);
    }
  }

  TileGrid grid_;
  Kernel kernel_;
  T const* x_;
  T* y_;
  T* shared_;
  Panels<T> panels_{kernel_.outputs()};
  TileBlocks blocks_{grid_.tiles()};
  PointMatrices<T> tile_matrices_ = tile_matrices<T>(blocks_.largest(), kernel_.inputs());
  PointMatrices<T> kernel_matrices_ = panel_matrices<T>(kernel_.inputs());
  PointMatrices<T> sum_matrices_ = panel_matrices<T>(blocks_.largest());
};

}  // namespace trireme::detail
