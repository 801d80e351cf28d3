/// GemmDivision: tiles and parts of matrix products for the teams of a device; the products that are computed in tiles
/// although a vendor's library is linked.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include <Kokkos_Macros.hpp>

#include "trireme/backend/gemm/product.hpp"
#include "trireme/backend/threads/team_arrivals.hpp"

namespace trireme::detail {

/// Division of products between teams: square tiles of results, and parts of the depth. It depends on the sizes alone,
/// and so do the results' bits.
struct GemmDivision {
  static constexpr std::uint32_t small_tile = 32, large_tile = 64;

  std::uint32_t extent;               ///< of a tile
  std::uint32_t column_tiles, tiles;  ///< of one product
  std::uint32_t parts, depth;         ///< parts of the depth, and how much of it is in each

  /// The parts of a tile.
  KOKKOS_FUNCTION constexpr TeamTree tree() const { return {parts}; }
};

/// True for types of which two groups' sums of a large tile fit the scratch memory.
template <class T>
inline constexpr bool takes_large_tiles = sizeof(T) <= 4;

/// Square tiles of `extent` results, and at most `most_parts` of the depth.
template <class T>
constexpr GemmDivision divide_gemm(Product<T> const& p, std::uint32_t extent, std::size_t most_parts) {
  constexpr std::size_t slice = 32;  // a part is some of them
  auto const narrowed = [](std::size_t value) { return static_cast<std::uint32_t>(value); };
  std::size_t const depth = std::max<std::size_t>((p.k + most_parts * slice - 1) / (most_parts * slice), 1) * slice;
  std::uint32_t const column_tiles = narrowed((p.n + extent - 1) / extent);
  return {.extent = extent,
          .column_tiles = column_tiles,
          .tiles = narrowed((p.m + extent - 1) / extent) * column_tiles,
          .parts = narrowed(std::max<std::size_t>((p.k + depth - 1) / depth, 1)),
          .depth = narrowed(depth)};
}

template <class T>
constexpr GemmDivision divide_gemm(ProductBatch<T> const& batch) {
  // Some for each multiprocessor of a large device, which hide each other's waits for memory.
  constexpr std::size_t wanted_teams = 264, enough_tiles = 128, least_depth = 64, most_parts = 256;
  Product<T> const& p = batch.first;
  auto const tiles_of = [&](std::size_t extent) {
    return (p.m + extent - 1) / extent * ((p.n + extent - 1) / extent) * batch.size();
  };
  bool const is_large = takes_large_tiles<T> && tiles_of(GemmDivision::large_tile) >= enough_tiles;
  std::uint32_t const extent = is_large ? GemmDivision::large_tile : GemmDivision::small_tile;
  std::size_t const parts = std::min({wanted_teams / tiles_of(extent), p.k / least_depth, most_parts});
  return divide_gemm(p, extent, std::max<std::size_t>(parts, 1));
}

/// True for products that tiles take less time for than a vendor's library, which launches two kernels for a product
/// that is split along its depth, one more for bias and activation, and one for each product of a group. The limits are
/// from an H200, in float, and from smaller teams than those of today. Products with a vector are the library's.
/// \param spares_launches  true if the library would launch such a kernel more
template <class T>
constexpr bool pays_in_tiles(ProductBatch<T> const& batch, bool spares_launches) {
  constexpr std::size_t few = std::size_t{1} << 22, some = std::size_t{1} << 26, many = std::size_t{1} << 28;
  constexpr std::size_t short_depth = 128;
  Product<T> const& p = batch.first;
  if (p.m == 1 || p.n == 1) return false;
  std::size_t const multiplications = p.m * p.n * p.k * batch.size();
  // Libraries have faster units for double, and for short numbers.
  if (!spares_launches || sizeof(T) > 4 || p.short_operands) return multiplications <= few;
  return multiplications <= some || (batch.size() == 1 && multiplications <= many && p.k <= short_depth);
}

}  // namespace trireme::detail
