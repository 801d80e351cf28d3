/// Sums over the rows of a matrix, column by column.
#pragma once

#include <cstddef>

#include <Kokkos_Core.hpp>

#include "trireme/backend/execution/lanes.hpp"

namespace trireme::detail {

/// On a host: sums[j] = sum over the rows of term(row, j), for a block of columns.
template <class Sum, class Term>
struct SumsOfColumnBlock {
  static constexpr std::size_t block = 16;
  Term term;
  std::size_t rows, columns;
  Sum* sums;
  static constexpr std::size_t blocks(std::size_t columns) { return (columns + block - 1) / block; }
  void operator()(std::size_t index) const {
    std::size_t const begin = index * block, left = columns - begin, width = left < block ? left : block;
    Sum partial[block] = {};
    if (width == block) {  // of known length, so that it vectorises
      for (std::size_t row = 0; row < rows; ++row)
        for (std::size_t j = 0; j < block; ++j) partial[j] += term(row, begin + j);
    } else {
      for (std::size_t row = 0; row < rows; ++row)
        for (std::size_t j = 0; j < width; ++j) partial[j] += term(row, begin + j);
    }
    for (std::size_t j = 0; j < width; ++j) sums[begin + j] = partial[j];
  }
};

/// Elements of a matrix as terms.
template <class T>
struct MatrixElement {
  T const* x;
  std::size_t columns;
  KOKKOS_FUNCTION T operator()(std::size_t row, std::size_t j) const { return x[row * columns + j]; }
};

/// On a device: a team sums a block of rows in a block of columns. Neighbouring lanes take neighbouring columns,
/// threads every so many-th row, and their sums are added in order: a result does not depend on the device.
template <class Sum, class Term, class Space>
struct TeamColumnSums {
  static constexpr std::size_t team_lanes = 256;  ///< threads times vector lanes
  static constexpr std::size_t row_block = 256;
  using Team = typename Kokkos::TeamPolicy<Space>::member_type;
  using Partial = Kokkos::View<Sum[team_lanes], typename Space::scratch_memory_space, Kokkos::MemoryUnmanaged>;

  Term term;
  std::size_t rows, columns, lanes, column_blocks;
  Sum* sums;  ///< (row blocks, columns)

  TeamColumnSums(Term const& terms, std::size_t row_count, std::size_t column_count, Sum* to)
      : term(terms),
        rows(row_count),
        columns(column_count),
        lanes(lanes_for(column_count)),
        column_blocks((column_count + lanes - 1) / lanes),
        sums(to) {}

  std::size_t row_blocks() const { return (rows + row_block - 1) / row_block; }
  std::size_t teams() const { return row_blocks() * column_blocks; }
  std::size_t threads() const { return team_lanes / lanes; }
  static constexpr std::size_t scratch_bytes() { return team_lanes * sizeof(Sum) + 64; }

  KOKKOS_FUNCTION void operator()(Team const& team) const {
    auto const index = static_cast<std::size_t>(team.league_rank());
    std::size_t const block = index / column_blocks, column = index % column_blocks * lanes;
    std::size_t const begin = block * row_block, left = rows - begin,
                      end = begin + (left < row_block ? left : row_block);
    std::size_t const count = team_lanes / lanes, width = columns - column < lanes ? columns - column : lanes;
    Partial partial(team.team_scratch(0));
    Kokkos::parallel_for(Kokkos::TeamThreadRange(team, count), [&](std::size_t thread) {
      Kokkos::parallel_for(Kokkos::ThreadVectorRange(team, width), [&](std::size_t lane) {
        Sum sum = 0;
        for (std::size_t row = begin + thread; row < end; row += count) sum += term(row, column + lane);
        partial(thread * lanes + lane) = sum;
      });
    });
    team.team_barrier();
    Kokkos::parallel_for(Kokkos::TeamThreadRange(team, std::size_t{1}), [&](std::size_t) {
      Kokkos::parallel_for(Kokkos::ThreadVectorRange(team, width), [&](std::size_t lane) {
        Sum sum = 0;
        for (std::size_t thread = 0; thread < count; ++thread) sum += partial(thread * lanes + lane);
        sums[block * columns + column + lane] = sum;
      });
    });
  }
};

}  // namespace trireme::detail
