/// Places of transformed tiles, kernels and sums in memory, for the products between Winograd's transforms.
#pragma once

#include <algorithm>
#include <cstddef>

#include "trireme/backend/convolution/window.hpp"
#include "trireme/backend/convolution/winograd_tiles.hpp"
#include "trireme/backend/convolution/winograd_transforms.hpp"
#include "trireme/backend/simd/simd_vector.hpp"

namespace trireme::detail {

/// One matrix for each point of the transformed domain, `distance` numbers apart. Matrices end with a vector of no use:
/// at distances that are powers of two, all of them would fall into the same few sets of the cache.
template <class T>
struct PointMatrices {
  static constexpr std::size_t lanes = SimdVector<T>::lanes;
  std::size_t rows, row_size;

  constexpr std::size_t distance() const { return rows * row_size + lanes; }
  constexpr std::size_t elements() const { return WinogradTransforms<T>::points * distance(); }
};

/// A number of channels in whole vectors.
template <class T>
constexpr std::size_t whole_vectors(std::size_t channels) {
  constexpr std::size_t lanes = SimdVector<T>::lanes;
  return (channels + lanes - 1) / lanes * lanes;
}

/// Columns that a product computes at once: four vectors of the longest kind.
template <class T>
struct Panels {
  static constexpr std::size_t most = 256 / sizeof(T);
  std::size_t channels;

  constexpr std::size_t count() const { return (channels + most - 1) / most; }
  constexpr std::size_t columns(std::size_t panel) const { return std::min(most, channels - panel * most); }
  constexpr std::size_t width(std::size_t panel) const { return whole_vectors<T>(columns(panel)); }
};

/// Tiles, transformed: rows are tiles and columns channels, with a vector more.
template <class T>
constexpr PointMatrices<T> tile_matrices(std::size_t tiles, std::size_t channels) {
  return {tiles, whole_vectors<T>(channels) + PointMatrices<T>::lanes};
}
/// One panel of something with `rows` rows, at its largest.
template <class T>
constexpr PointMatrices<T> panel_matrices(std::size_t rows) {
  return {rows, Panels<T>::most};
}

/// Division of tiles into blocks whose transforms a core's second cache holds beside a panel of the kernel.
struct TileBlocks {
  static constexpr std::size_t most = 48;  // a multiple of the heights of register tiles
  std::size_t tiles;

  constexpr std::size_t count() const {
    std::size_t const blocks = (tiles + most - 1) / most;
    return blocks <= 4 ? blocks : (blocks + 3) / 4 * 4;  // so that two or four threads get as many each
  }
  constexpr std::size_t begin(std::size_t block) const { return tiles * block / count(); }
  constexpr std::size_t largest() const { return (tiles + count() - 1) / count(); }
};

}  // namespace trireme::detail
