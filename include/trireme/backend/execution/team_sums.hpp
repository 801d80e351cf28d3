/// Sums by teams of a device: over the rows of a matrix, column by column, and over what a functor adds.
#pragma once

#include <cstddef>

#include <Kokkos_Core.hpp>

#include "trireme/backend/execution/lanes.hpp"

namespace trireme::detail {

/// Elements of a matrix as terms.
template <class T>
struct MatrixElement {
  T const* x;
  std::size_t columns;
  KOKKOS_FUNCTION T operator()(std::size_t row, std::size_t j) const { return x[row * columns + j]; }
};

/// Rows that a team of a device sums up.
inline constexpr std::size_t team_rows = 256;

/// A team sums a block of rows in a block of columns. Neighbouring lanes take neighbouring columns, threads every so
/// many-th row, and their sums are added in order: a result does not depend on the device.
template <class Sum, class Term, class Space>
struct TeamColumnSums {
  static constexpr std::size_t team_lanes = 256;  ///< threads times vector lanes
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

  /// One block of rows at least, whose sums are 0 where there is none.
  std::size_t teams() const {
    return rows > team_rows ? (rows + team_rows - 1) / team_rows * column_blocks : column_blocks;
  }
  std::size_t threads() const { return team_lanes / lanes; }
  static constexpr std::size_t scratch_bytes() { return team_lanes * sizeof(Sum) + 64; }

  KOKKOS_FUNCTION void operator()(Team const& team) const {
    auto const index = static_cast<std::size_t>(team.league_rank());
    std::size_t const block = index / column_blocks, column = index % column_blocks * lanes;
    std::size_t const begin = block * team_rows, left = rows - begin,
                      end = begin + (left < team_rows ? left : team_rows);
    std::size_t const count = team_lanes / lanes, width = columns - column < lanes ? columns - column : lanes;
    Partial partial(team.team_scratch(0));
    Kokkos::parallel_for(Kokkos::TeamThreadRange(team, count), [&](std::size_t thread) {
      Kokkos::parallel_for(Kokkos::ThreadVectorRange(team, width), [&](std::size_t lane) {
        partial(thread * lanes + lane) = sum_rows(begin + thread, end, count, column + lane);
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

 private:
  static constexpr std::size_t batch = 8;  ///< terms that a thread reads before it adds one

  /// The sum of every `stride`-th term of column j, in the order of the rows.
  KOKKOS_FUNCTION Sum sum_rows(std::size_t row, std::size_t end, std::size_t stride, std::size_t j) const {
    Sum sum = 0;
    for (; row + (batch - 1) * stride < end; row += batch * stride) {
      Sum values[batch];
      for (std::size_t k = 0; k < batch; ++k) values[k] = value(row + k * stride, j);
      for (std::size_t k = 0; k < batch; ++k) {
        keep(row + k * stride, j, values[k]);
        sum += values[k];
      }
    }
    for (; row < end; row += stride) sum += term(row, j);
    return sum;
  }
  /// Terms that store say apart what they read and what they store, which else would have to wait for each other.
  KOKKOS_FUNCTION Sum value(std::size_t row, std::size_t j) const {
    if constexpr (requires { term.value(row, j); })
      return term.value(row, j);
    else
      return term(row, j);
  }
  KOKKOS_FUNCTION void keep([[maybe_unused]] std::size_t row, [[maybe_unused]] std::size_t j,
                            [[maybe_unused]] Sum read) const {
    if constexpr (requires { term.keep(row, j, read); }) term.keep(row, j, read);
  }
};

/// A team sums what f(i, sums) adds for a block of indices, in an order that does not depend on the
/// device.
template <class F, class Space>
struct TeamTotals {
  static constexpr std::size_t width = F::width, block = 1024;
  /// As many as have room for their sums.
  static constexpr std::size_t threads = [] {
    std::size_t count = 256;
    while (count > 1 && count * width > 2048) count /= 2;
    return count;
  }();
  static constexpr std::size_t groups = threads < 8 ? 1 : 8;  ///< of threads, whose sums are added first
  using Team = typename Kokkos::TeamPolicy<Space>::member_type;
  using Partial =
      Kokkos::View<double[threads + groups][width], typename Space::scratch_memory_space, Kokkos::MemoryUnmanaged>;

  F f;
  std::size_t n;
  double* partial;  ///< (blocks, width), or null
  double* totals;   ///< of the only block: the sums are added to these

  static constexpr std::size_t scratch_bytes() { return (threads + groups) * width * sizeof(double) + 64; }

  KOKKOS_FUNCTION void operator()(Team const& team) const {
    auto const index = static_cast<std::size_t>(team.league_rank());
    std::size_t const begin = index * block, end = n - begin < block ? n : begin + block;
    Partial sums(team.team_scratch(0));
    Kokkos::parallel_for(Kokkos::TeamThreadRange(team, threads), [&](std::size_t thread) {
      double own[width] = {};
      for (std::size_t i = begin + thread; i < end; i += threads) f(i, own);
      for (std::size_t w = 0; w < width; ++w) sums(thread, w) = own[w];
    });
    team.team_barrier();
    Kokkos::parallel_for(Kokkos::TeamThreadRange(team, groups * width), [&](std::size_t e) {
      std::size_t const group = e / width, w = e % width;
      double sum = 0;
      for (std::size_t k = 0; k < threads / groups; ++k) sum += sums(group * (threads / groups) + k, w);
      sums(threads + group, w) = sum;
    });
    team.team_barrier();
    Kokkos::parallel_for(Kokkos::TeamThreadRange(team, width), [&](std::size_t w) {
      double sum = 0;
      for (std::size_t group = 0; group < groups; ++group) sum += sums(threads + group, w);
      if (totals)
        totals[w] += sum;
      else
        partial[index * width + w] = sum;
    });
  }
};

}  // namespace trireme::detail
