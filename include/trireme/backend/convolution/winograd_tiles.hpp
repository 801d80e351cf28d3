/// Tiles of 4 x 4 pixels, each for 2 x 2 outputs, that cover the images of a batch.
#pragma once

#include <algorithm>
#include <cstddef>

#include "trireme/backend/convolution/window.hpp"

namespace trireme::detail {

/// One axis of tiles: pixels `in`, outputs `out`, and zeros before the first pixel.
struct TileAxis {
  std::size_t in, out, padding;

  constexpr std::size_t tiles() const { return (out + 1) / 2; }
};

/// The tiles of a batch, sample after sample.
struct TileGrid {
  TileAxis height, width;
  std::size_t rows;

  constexpr std::size_t per_sample() const { return height.tiles() * width.tiles(); }
  constexpr std::size_t tiles() const { return rows * per_sample(); }
};

/// The grid of a convolution.
constexpr TileGrid output_tiles(Window2D const& w, std::size_t rows) {
  return {{w.height.in, w.height.out, w.height.padding}, {w.width.in, w.width.out, w.width.padding}, rows};
}
/// The grid of its input's gradient, which is the convolution of dy with the rotated kernel.
constexpr TileGrid input_tiles(Window2D const& w, std::size_t rows) {
  return {{w.height.out, w.height.in, w.height.window - 1 - w.height.padding},
          {w.width.out, w.width.in, w.width.window - 1 - w.width.padding},
          rows};
}

/// A tile's place.
struct TilePlace {
  std::size_t sample, line, column;

  TilePlace(TileGrid const& grid, std::size_t tile)
      : sample(tile / grid.per_sample()),
        line(tile % grid.per_sample() / grid.width.tiles()),
        column(tile % grid.width.tiles()) {}
};

/// Pointers to Size x Size pixels of a sample from (line, column) on, each a row of `channels` numbers; `outside` for
/// those that the image has not. The first line and column may be before the image: they wrap.
template <std::size_t Size, class T>
void find_pixels(T* image, std::size_t height, std::size_t width, std::size_t channels, std::size_t line,
                 std::size_t column, T* outside, T* (&pixels)[Size * Size]) {
  for (std::size_t i = 0; i < Size; ++i)
    for (std::size_t j = 0; j < Size; ++j)
      pixels[i * Size + j] =
          line + i < height && column + j < width ? image + ((line + i) * width + column + j) * channels : outside;
}

/// The 4 x 4 pixels that a tile reads.
template <class T>
void tile_pixels(TileGrid const& grid, std::size_t tile, T const* images, std::size_t channels, T const* zeros,
                 T const* (&pixels)[16]) {
  TilePlace const at(grid, tile);
  find_pixels<4>(images + at.sample * grid.height.in * grid.width.in * channels, grid.height.in, grid.width.in,
                 channels, 2 * at.line - grid.height.padding, 2 * at.column - grid.width.padding, zeros, pixels);
}

/// The 2 x 2 pixels of the output that a tile makes, `outside` for those beyond it.
template <class T>
void tile_outputs(TileGrid const& grid, std::size_t tile, T* outputs, std::size_t channels, T* outside,
                  T* (&pixels)[4]) {
  TilePlace const at(grid, tile);
  find_pixels<2>(outputs + at.sample * grid.height.out * grid.width.out * channels, grid.height.out, grid.width.out,
                 channels, 2 * at.line, 2 * at.column, outside, pixels);
}

}  // namespace trireme::detail
