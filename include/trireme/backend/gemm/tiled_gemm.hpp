/// The kernel of matrix products in plain Kokkos: tiles of results in registers, whose operands pass through scratch
/// memory.
#pragma once

#include <cstddef>
#include <cstdint>

#include <Kokkos_Core.hpp>

#include "trireme/backend/gemm/async_copy.hpp"
#include "trireme/backend/gemm/gemm_division.hpp"
#include "trireme/backend/gemm/product.hpp"
#include "trireme/backend/simd/four.hpp"
#include "trireme/backend/threads/team_arrivals.hpp"

namespace trireme::detail {

/// Copies slices of an operand, one after the other, to scratch memory: (level, extent). Neighbouring threads copy
/// neighbouring elements: 32 along the extent, or 8 along the depth of 4 rows, which fall into different banks.
template <class T, std::uint32_t Extent, std::uint32_t Slice>
class SliceCopy {
 public:
  static constexpr std::uint32_t pitch = Extent + 4;

  /// \param x             element (0, 0) of the operand's part
  /// \param extent_step   distance of neighbours along the extent, and
  /// \param depth_step    along the depth: one of them is 1
  /// \param extent        what is left of it; there are zeros beyond
  KOKKOS_FUNCTION SliceCopy(T const* x, std::size_t extent_step, std::size_t depth_step, std::size_t extent,
                            std::uint32_t rank)
      : extent_step_(extent_step * rows), level_step_(depth_step * levels) {
    bool const along_extent = extent_step == 1;
    std::uint32_t const e = along_extent ? rank % rows : rank / levels;
    level_ = along_extent ? rank / rows : rank % levels;
    from_ = x + e * extent_step + level_ * depth_step;
    to_ = level_ * pitch + e;
    for (std::uint32_t i = 0; i < Extent / rows; ++i) inside_[i] = e + i * rows < extent;
  }

  /// Begins to copy the next slice.
  /// \param left  levels that are left of the depth; there are zeros beyond
  template <class Copies>
  KOKKOS_FUNCTION void operator()(Copies& copies, T* memory, std::uint32_t left) {
    for (std::uint32_t l = 0; l < Slice / levels; ++l) {
      for (std::uint32_t i = 0; i < Extent / rows; ++i)
        copies.copy_or_clear(memory + to_ + l * levels * pitch + i * rows, from_ + i * extent_step_,
                             inside_[i] && level_ + l * levels < left);
      from_ += level_step_;
    }
  }

 private:
  static constexpr std::uint32_t rows = 32, levels = 8;  ///< that all threads copy at once
  T const* from_;
  std::size_t extent_step_, level_step_;
  std::uint32_t to_, level_;
  bool inside_[Extent / rows];
};

/// A team computes a tile of results over a part of the depth. Groups of its threads multiply different levels of a
/// slice, while the slices behind it are copied; then the sums of the groups are added, and those of several parts.
template <class T, class Space, class Epilogue, std::uint32_t Extent>
struct TiledGemm {
  static constexpr std::uint32_t threads = 256, block_columns = 4, block_rows = Extent / 8;
  static constexpr std::uint32_t across = Extent / block_columns, group_threads = 8 * across;
  static constexpr std::uint32_t groups = threads / group_threads, levels = 8, slice = groups * levels;
  using Copy = SliceCopy<T, Extent, slice>;
  static constexpr std::uint32_t pitch = Copy::pitch, stage = 2 * slice * pitch, stages = sizeof(T) > 4 ? 2 : 4;
  static constexpr std::uint32_t own_fours = Extent * Extent / 4 / threads;  ///< results of a thread, in the end
  static_assert(groups * Extent * pitch <= stages * stage);                  // where sums of groups are added

  using Team = typename Kokkos::TeamPolicy<Space>::member_type;
  using Memory =
      Kokkos::View<Four<T>[stages * stage / 4], typename Space::scratch_memory_space, Kokkos::MemoryUnmanaged>;
  using Flag = Kokkos::View<unsigned, typename Space::scratch_memory_space, Kokkos::MemoryUnmanaged>;

  ProductBatch<T> batch;
  GemmDivision division;
  Epilogue epilogue;
  bool stores_four;
  Four<T>* sums = nullptr;       ///< (product, tile, place, fours of a tile), where there are several parts
  unsigned* arrivals = nullptr;  ///< (product, tile, bunch), likewise

  static constexpr std::size_t scratch_bytes() { return sizeof(T) * stages * stage + sizeof(unsigned) + 128; }

  KOKKOS_FUNCTION void operator()(Team const& team) const {
    auto const index = static_cast<std::uint32_t>(team.league_rank());
    std::uint32_t const part = index % division.parts, tile_index = index / division.parts;
    std::uint32_t const tile = tile_index % division.tiles, product = tile_index / division.tiles;
    Product<T> const p = batch[product];
    std::size_t const row = std::size_t{tile / division.column_tiles} * Extent,
                      column = std::size_t{tile % division.column_tiles} * Extent;
    Memory const memory(team.team_scratch(0));
    Flag const flag(team.team_scratch(0));
    Four<T> values[own_fours];
    multiply(team, p, row, column, part, reinterpret_cast<T*>(memory.data()), values);

    if (division.parts == 1) return store(team, p, row, column, values);
    TeamTree const tree = division.tree();
    Four<T>* const places = sums + std::size_t{tile_index} * tree.places() * own_fours * threads;
    auto const at = [&](std::uint32_t place) { return places + std::size_t{place} * own_fours * threads; };
    keep(team, values, at(part));
    tree.sum(team, part, arrivals + std::size_t{tile_index} * tree.bunches(), flag.data(),
             [&](std::uint32_t first, std::uint32_t count, std::uint32_t place) {
               add(team, at(first), count, values);
               if (place < tree.places())
                 keep(team, values, at(place));
               else
                 store(team, p, row, column, values);
             });
  }

 private:
  static KOKKOS_FUNCTION std::uint32_t rank_of(Team const& team) {
    return static_cast<std::uint32_t>(team.team_rank());
  }

  /// Sums of a tile over a part of the depth: of four neighbouring results each, `threads` fours apart.
  KOKKOS_FUNCTION void multiply(Team const& team, Product<T> const& p, std::size_t row, std::size_t column,
                                std::uint32_t part, T* memory, Four<T> (&values)[own_fours]) const {
    std::uint32_t const rank = rank_of(team), group = rank / group_threads, line = rank % group_threads / across,
                        at = rank % across;
    std::size_t const begin = std::size_t{part} * division.depth, behind = p.k - begin;
    auto const depth = static_cast<std::uint32_t>(behind < division.depth ? behind : division.depth);
    std::size_t const left_extent = p.transpose_a ? 1 : p.lda, left_depth = p.transpose_a ? p.lda : 1;
    std::size_t const right_extent = p.transpose_b ? p.ldb : 1, right_depth = p.transpose_b ? 1 : p.ldb;
    Copy copy_left(p.a.block() + row * left_extent + begin * left_depth, left_extent, left_depth, p.m - row, rank);
    Copy copy_right(p.b + column * right_extent + begin * right_depth, right_extent, right_depth, p.n - column, rank);
    std::uint32_t const slices = (depth + slice - 1) / slice;
    AsyncCopies<Space> copies;
    auto const copy = [&](std::uint32_t s) {
      if (s < slices) {
        T* const to = memory + s % stages * stage;
        copy_left(copies, to, depth - s * slice);
        copy_right(copies, to + slice * pitch, depth - s * slice);
      }
      copies.end_group();
    };
    for (std::uint32_t s = 0; s + 1 < stages; ++s) copy(s);
    T sum[block_rows][block_columns] = {};
    for (std::uint32_t s = 0; s < slices; ++s) {
      copies.template await<static_cast<int>(stages) - 2>();
      // All threads have left the slice before, whose memory is copied to next.
      team.team_barrier();
      copy(s + stages - 1);
      T const* const of_left = memory + s % stages * stage + group * levels * pitch + line * 4;
      T const* const of_right = memory + s % stages * stage + (slice + group * levels) * pitch + at * 4;
      for (std::uint32_t k = 0; k < levels; ++k) {
        Four<T> a[block_rows / 4];
        for (std::uint32_t i = 0; i < block_rows / 4; ++i) a[i] = Four<T>::from(of_left + k * pitch + i * 32);
        Four<T> const b = Four<T>::from(of_right + k * pitch);
        for (std::uint32_t i = 0; i < block_rows; ++i)
          for (std::uint32_t j = 0; j < block_columns; ++j) sum[i][j] += a[i / 4].at[i % 4] * b.at[j];
      }
    }
    team.team_barrier();
    for (std::uint32_t i = 0; i < block_rows; ++i) {
      std::uint32_t const line_of_tile = line * 4 + i / 4 * 32 + i % 4;
      Four<T>& to = Four<T>::from(memory + (group * Extent + line_of_tile) * pitch + at * 4);
      for (std::uint32_t j = 0; j < block_columns; ++j) to.at[j] = sum[i][j];
    }
    team.team_barrier();
    for (std::uint32_t f = 0; f < own_fours; ++f) {
      std::uint32_t const four = rank + f * threads;
      T const* const from = memory + four / across * pitch + four % across * 4;
      values[f] = Four<T>::from(from);
      for (std::uint32_t g = 1; g < groups; ++g) add_to(values[f], Four<T>::from(from + g * Extent * pitch));
    }
  }

  static KOKKOS_FUNCTION void add_to(Four<T>& sum, Four<T> const& values) {
    for (std::uint32_t e = 0; e < 4; ++e) sum.at[e] += values.at[e];
  }

  /// Leaves sums for another team.
  static KOKKOS_FUNCTION void keep(Team const& team, Four<T> const (&values)[own_fours], Four<T>* to) {
    for (std::uint32_t f = 0; f < own_fours; ++f) to[rank_of(team) + f * threads] = values[f];
    Kokkos::memory_fence();
  }

  /// The sums of a few parts. Several are read before one is added.
  static KOKKOS_FUNCTION void add(Team const& team, Four<T> const* stored, std::uint32_t count,
                                  Four<T> (&values)[own_fours]) {
    constexpr std::uint32_t ahead = (sizeof(T) > 4 ? 8 : 16) / own_fours;
    for (auto& value : values) value = {};
    for (std::uint32_t first = 0; first < count; first += ahead) {
      Four<T> read[ahead][own_fours];
      for (std::uint32_t a = 0; a < ahead; ++a)
        for (std::uint32_t f = 0; f < own_fours; ++f)
          read[a][f] = first + a < count ? stored[((first + a) * own_fours + f) * threads + rank_of(team)] : Four<T>{};
      for (std::uint32_t a = 0; a < ahead; ++a)
        for (std::uint32_t f = 0; f < own_fours; ++f) add_to(values[f], read[a][f]);
    }
  }

  KOKKOS_FUNCTION void store(Team const& team, Product<T> const& p, std::size_t row, std::size_t column,
                             Four<T> const (&values)[own_fours]) const {
    for (std::uint32_t f = 0; f < own_fours; ++f) {
      std::uint32_t const four = rank_of(team) + f * threads, column_of_tile = four % across * 4;
      std::size_t const i = row + four / across, j = column + column_of_tile;
      if (i >= p.m || j >= p.n) continue;
      T const* const before = p.c + i * p.ldc + j;
      if (stores_four && j + 4 <= p.n) {
        Four<T> results = values[f];
        if (p.accumulate) add_to(results, Four<T>::from(before));
        epilogue.four(p, i, j, results);
      } else {
        for (std::uint32_t e = 0; e < 4 && j + e < p.n; ++e)
          epilogue(p, i, j + e, p.accumulate ? before[e] + values[f].at[e] : values[f].at[e]);
      }
    }
  }
};

}  // namespace trireme::detail
