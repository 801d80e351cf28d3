/// Sums by teams of a device: over the rows of a matrix, column by column, and over what a functor adds.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include <Kokkos_Core.hpp>

#include "trireme/backend/execution/lanes.hpp"
#include "trireme/backend/threads/team_arrivals.hpp"

namespace trireme::detail {

/// Elements of a matrix as terms.
template <class T>
struct MatrixElement {
  T const* x;
  std::size_t columns;
  KOKKOS_FUNCTION T operator()(std::size_t row, std::size_t j) const { return x[row * columns + j]; }
};

/// Items of `count` that one of at most `most` teams takes: a multiple of `least`, which depends on nothing else.
constexpr std::size_t items_of_team(std::size_t count, std::size_t least, std::size_t most) {
  return least * ((count + least * most - 1) / (least * most));
}
constexpr std::size_t teams_for(std::size_t count, std::size_t items) { return (count + items - 1) / items; }

/// Team sums of blocks of rows in blocks of columns. Neighbouring lanes take neighbouring columns, threads every so
/// many-th row, and their sums are added in order; so are those of the blocks. A result does not depend on the device.
template <class Sum, class Term, class Space>
struct TeamColumnSums {
  static constexpr std::size_t team_lanes = 256;     ///< threads times vector lanes
  static constexpr std::size_t largest_block = 256;  ///< rows
  using Team = typename Kokkos::TeamPolicy<Space>::member_type;
  using Partial = Kokkos::View<Sum[team_lanes], typename Space::scratch_memory_space, Kokkos::MemoryUnmanaged>;
  using Flag = Kokkos::View<unsigned, typename Space::scratch_memory_space, Kokkos::MemoryUnmanaged>;

  Term term;
  std::size_t rows, columns, lanes, column_blocks, block, row_blocks;
  Sum* sums;
  Sum* partial = nullptr;        ///< (place in the tree, columns), where there is more than one block of rows
  unsigned* arrivals = nullptr;  ///< (column block, bunch), likewise

  TeamColumnSums(Term const& terms, std::size_t row_count, std::size_t column_count, Sum* to)
      : term(terms),
        rows(row_count),
        columns(column_count),
        lanes(lanes_for(column_count)),
        column_blocks(teams_for(column_count, lanes)),
        block(block_of(row_count)),
        row_blocks(row_count > block ? teams_for(row_count, block) : 1),
        sums(to) {}

  /// Rows of a block: as few as leave one bunch of them, within limits.
  static constexpr std::size_t block_of(std::size_t rows) {
    return rows <= largest_block ? largest_block
                                 : std::min(largest_block, items_of_team(rows, largest_block / 4, TeamTree::bunch));
  }
  /// One block of rows at least, whose sums are 0 where there is none.
  std::size_t teams() const { return row_blocks * column_blocks; }
  std::size_t threads() const { return team_lanes / lanes; }
  /// The blocks of rows.
  KOKKOS_FUNCTION TeamTree tree() const { return {static_cast<std::uint32_t>(row_blocks)}; }
  static constexpr std::size_t scratch_bytes() { return team_lanes * sizeof(Sum) + sizeof(unsigned) + 128; }

  KOKKOS_FUNCTION void operator()(Team const& team) const {
    auto const index = static_cast<std::size_t>(team.league_rank());
    std::size_t const row_block = index / column_blocks, column_block = index % column_blocks;
    std::size_t const begin = row_block * block, left = rows - begin, end = begin + (left < block ? left : block);
    std::size_t const column = column_block * lanes;
    Partial of_threads(team.team_scratch(0));
    if (row_blocks == 1) return add(team, of_threads, term, begin, end, column, sums);
    add(team, of_threads, term, begin, end, column, partial + row_block * columns);
    Flag flag(team.team_scratch(0));
    TeamTree const all = tree();
    all.sum(team, static_cast<std::uint32_t>(row_block), arrivals + column_block * all.bunches(), flag.data(),
            [&](std::uint32_t first, std::uint32_t count, std::uint32_t place) {
              add(team, of_threads, MatrixElement<Sum>{partial, columns}, first, first + count, column,
                  place < all.places() ? partial + place * columns : sums);
            });
  }

 private:
  static constexpr std::size_t batch = 8;  ///< terms that a thread reads before it adds one

  /// Sums rows [begin, end) of the columns of a block, from `column` on.
  template <class Terms>
  KOKKOS_FUNCTION void add(Team const& team, Partial const& of_threads, Terms const& terms, std::size_t begin,
                           std::size_t end, std::size_t column, Sum* to) const {
    std::size_t const count = team_lanes / lanes, width = columns - column < lanes ? columns - column : lanes;
    Kokkos::parallel_for(Kokkos::TeamThreadRange(team, count), [&](std::size_t thread) {
      Kokkos::parallel_for(Kokkos::ThreadVectorRange(team, width), [&](std::size_t lane) {
        of_threads(thread * lanes + lane) = sum_rows(terms, begin + thread, end, count, column + lane);
      });
    });
    team.team_barrier();
    Kokkos::parallel_for(Kokkos::TeamThreadRange(team, std::size_t{1}), [&](std::size_t) {
      Kokkos::parallel_for(Kokkos::ThreadVectorRange(team, width), [&](std::size_t lane) {
        Sum sum = 0;
        for (std::size_t thread = 0; thread < count; ++thread) sum += of_threads(thread * lanes + lane);
        to[column + lane] = sum;
        if (arrivals != nullptr) Kokkos::memory_fence();
      });
    });
  }

  /// The sum of every `stride`-th term of column j, in the order of the rows.
  template <class Terms>
  static KOKKOS_FUNCTION Sum sum_rows(Terms const& terms, std::size_t row, std::size_t end, std::size_t stride,
                                      std::size_t j) {
    Sum sum = 0;
    for (; row + (batch - 1) * stride < end; row += batch * stride) add_batch<batch>(terms, row, stride, j, sum);
    if (row + (batch / 2 - 1) * stride < end) {
      add_batch<batch / 2>(terms, row, stride, j, sum);
      row += batch / 2 * stride;
    }
    for (; row < end; row += stride) sum += terms(row, j);
    return sum;
  }
  template <std::size_t Count, class Terms>
  static KOKKOS_FUNCTION void add_batch(Terms const& terms, std::size_t row, std::size_t stride, std::size_t j,
                                        Sum& sum) {
    Sum values[Count];
    for (std::size_t k = 0; k < Count; ++k) values[k] = value(terms, row + k * stride, j);
    for (std::size_t k = 0; k < Count; ++k) {
      keep(terms, row + k * stride, j, values[k]);
      sum += values[k];
    }
  }
  /// Terms that store say apart what they read and what they store, which else would have to wait for each other.
  template <class Terms>
  static KOKKOS_FUNCTION Sum value(Terms const& terms, std::size_t row, std::size_t j) {
    if constexpr (requires { terms.value(row, j); })
      return terms.value(row, j);
    else
      return terms(row, j);
  }
  template <class Terms>
  static KOKKOS_FUNCTION void keep([[maybe_unused]] Terms const& terms, [[maybe_unused]] std::size_t row,
                                   [[maybe_unused]] std::size_t j, [[maybe_unused]] Sum read) {
    if constexpr (requires { terms.keep(row, j, read); }) terms.keep(row, j, read);
  }
};

/// Team sums of what f(i, sums) adds for blocks of indices. The last team adds up those of all, in order: a result does
/// not depend on the device.
template <class F, class Space>
struct TeamTotals {
  static constexpr std::size_t width = F::width, most_teams = 512;
  /// As many as have room for their sums.
  static constexpr std::size_t threads = [] {
    std::size_t count = 256;
    while (count > 1 && count * width > 2048) count /= 2;
    return count;
  }();
  /// Indices that one team sums, which saves the additions of another.
  static constexpr std::size_t alone = 2 * threads;
  static constexpr std::size_t groups = threads < 8 ? 1 : 8;  ///< of threads, whose sums are added first
  using Team = typename Kokkos::TeamPolicy<Space>::member_type;
  using Sums =
      Kokkos::View<double[threads + groups][width], typename Space::scratch_memory_space, Kokkos::MemoryUnmanaged>;
  using Flag = Kokkos::View<unsigned, typename Space::scratch_memory_space, Kokkos::MemoryUnmanaged>;

  F f;
  std::size_t n, block, teams;
  double* totals;                ///< the sums are added to these
  double* partial = nullptr;     ///< (teams, width), where there is more than one team
  unsigned* arrivals = nullptr;  ///< likewise

  TeamTotals(F const& terms, std::size_t count, double* to)
      : f(terms),
        n(count),
        block(count > alone ? items_of_team(count, threads, most_teams) : alone),
        teams(teams_for(count, block)),
        totals(to) {}

  static constexpr std::size_t scratch_bytes() {
    return (threads + groups) * width * sizeof(double) + sizeof(unsigned) + 128;
  }

  KOKKOS_FUNCTION void operator()(Team const& team) const {
    auto const index = static_cast<std::size_t>(team.league_rank());
    std::size_t const begin = index * block, end = n - begin < block ? n : begin + block;
    Sums sums(team.team_scratch(0));
    auto const add_to_totals = [&](std::size_t w, double sum) { totals[w] += sum; };
    if (teams == 1) return add(team, sums, begin, end, f, add_to_totals);
    add(team, sums, begin, end, f, [&](std::size_t w, double sum) {
      partial[index * width + w] = sum;
      Kokkos::memory_fence();
    });
    Flag flag(team.team_scratch(0));
    if (TeamArrivals{arrivals, static_cast<unsigned>(teams)}.is_last(team, flag.data()))
      add(
          team, sums, 0, teams,
          [&](std::size_t i, double* own) {
            for (std::size_t w = 0; w < width; ++w) own[w] += partial[i * width + w];
          },
          add_to_totals);
  }

 private:
  /// Hands the sums of what terms(i, sums) adds for i in [begin, end) to `take`.
  template <class Terms, class Take>
  KOKKOS_FUNCTION void add(Team const& team, Sums const& sums, std::size_t begin, std::size_t end, Terms const& terms,
                           Take const& take) const {
    Kokkos::parallel_for(Kokkos::TeamThreadRange(team, threads), [&](std::size_t thread) {
      double own[width] = {};
      for (std::size_t i = begin + thread; i < end; i += threads) terms(i, own);
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
      take(w, sum);
    });
  }
};

}  // namespace trireme::detail
