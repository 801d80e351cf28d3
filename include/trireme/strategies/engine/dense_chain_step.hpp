/// Kernels of a fused training step: forward, loss and backward of a batch by teams that each take tiles of rows, and
/// the sums of the teams' gradients with the optimizer's step.
#pragma once

#include <cstddef>

#include <Kokkos_Core.hpp>

#include "trireme/strategies/engine/dense_chain_kernels.hpp"

namespace trireme::kernels {

/// Threads of a team and vector lanes of each.
inline constexpr std::size_t chain_threads = 8, chain_lanes = 32;

/// Scratch memory of a team: `sums` (1 + rows of a tile, sums of a row), then numbers at the offsets of ChainDense.
template <class T, class Space>
struct ChainMemory {
  using Scratch = typename Space::scratch_memory_space;
  using Numbers = Kokkos::View<T*, Scratch, Kokkos::MemoryUnmanaged>;
  using Sums = Kokkos::View<double*, Scratch, Kokkos::MemoryUnmanaged>;

  static constexpr std::size_t bytes(std::size_t numbers, std::size_t sums) {
    return numbers * sizeof(T) + sums * sizeof(double) + 64;
  }
};

/// Forward, loss and backward of a batch. Team t takes the t-th run of tiles, from the first row to the last, and
/// leaves their sums of gradients, of loss and of metrics.
template <class T, class L, class Layers, class Space>
struct ChainStep {
  using Team = typename Kokkos::TeamPolicy<Space>::member_type;
  using Memory = ChainMemory<T, Space>;

  Layers layers;
  T const* parameters;
  T const* x;
  L const* targets;
  double const* weights;  ///< one a row, or null
  std::size_t rows, team_rows;
  ChainIndex tile_rows, inputs, target_size;
  ChainIndex tile_inputs;  ///< in scratch memory
  ChainIndex numbers;      ///< of scratch memory
  std::size_t elements;    ///< of the arena
  T* gradients;            ///< (teams, elements)
  double* totals;          ///< (teams, sums)

  std::size_t scratch_sums() const { return (1 + tile_rows) * Layers::sums; }
  std::size_t scratch_bytes() const { return Memory::bytes(numbers, scratch_sums()); }

  KOKKOS_FUNCTION void operator()(Team const& team) const {
    auto const index = static_cast<std::size_t>(team.league_rank());
    typename Memory::Sums const sum_memory(team.team_scratch(0), (1 + tile_rows) * Layers::sums);
    typename Memory::Numbers const number_memory(team.team_scratch(0), numbers);
    double* const sums = sum_memory.data();
    T* const memory = number_memory.data();
    auto const count = static_cast<ChainIndex>(Layers::sums);
    Kokkos::parallel_for(Kokkos::TeamVectorRange(team, count), [&](ChainIndex s) { sums[s] = 0; });
    layers.stage(team, parameters, memory);
    std::size_t const begin = index * team_rows, end = rows - begin < team_rows ? rows : begin + team_rows;
    for (std::size_t row = begin; row < end; row += tile_rows) {
      auto const here = static_cast<ChainIndex>(end - row < tile_rows ? end - row : tile_rows);
      ChainTile<Team, T, L> const tile{team,
                                       memory,
                                       sums,
                                       gradients + index * elements,
                                       targets + row * target_size,
                                       weights ? weights + row : nullptr,
                                       here,
                                       tile_rows / chain_block,
                                       row == begin};
      T* const own = memory + tile_inputs;
      T const* const from = x + row * inputs;
      tile.for_each(here * inputs, [&](ChainIndex e) { own[e] = from[e]; });
      tile.barrier();
      layers.train(tile, ChainInput<T>{own, inputs});
    }
    Kokkos::parallel_for(Kokkos::TeamVectorRange(team, count),
                         [&](ChainIndex s) { totals[index * Layers::sums + s] = sums[s]; });
  }
};

/// No step of the optimizer.
struct NoChainUpdate {
  KOKKOS_FUNCTION void operator()(std::size_t) const {}
};

/// The sums over the teams of a ChainStep, in an order that depends on their number alone, and update(i) for each
/// element of the arena. The last team adds loss and metrics to the totals.
template <class T, class Update, class Space>
struct ChainSums {
  using Team = typename Kokkos::TeamPolicy<Space>::member_type;
  template <class Sum>
  using Partial =
      Kokkos::View<Sum[chain_threads * chain_lanes], typename Space::scratch_memory_space, Kokkos::MemoryUnmanaged>;

  Update update;
  std::size_t teams, elements, sums;
  T const* team_gradients;
  double const* team_totals;
  T* gradients;
  double* totals;

  std::size_t league() const { return blocks() + 1; }
  static constexpr std::size_t scratch_bytes() { return chain_threads * chain_lanes * sizeof(double) + 64; }

  KOKKOS_FUNCTION void operator()(Team const& team) const {
    auto const block = static_cast<std::size_t>(team.league_rank());
    if (block < blocks()) {
      Partial<T> const partial(team.team_scratch(0));
      add(team, team_gradients, elements, block * chain_lanes, partial.data(), [&](std::size_t i, T sum) {
        gradients[i] = sum;
        update(i);
      });
    } else {
      Partial<double> const partial(team.team_scratch(0));
      for (std::size_t first = 0; first < sums; first += chain_lanes) {
        add(team, team_totals, sums, first, partial.data(), [&](std::size_t s, double sum) { totals[s] += sum; });
        team.team_barrier();
      }
    }
  }

 private:
  KOKKOS_FUNCTION std::size_t blocks() const { return (elements + chain_lanes - 1) / chain_lanes; }

  /// store(column, sum) for the columns from `first` on, one a lane. Threads sum up every so many-th row, and their
  /// sums are added in order. \param partial  scratch memory
  template <class Sum, class Store>
  KOKKOS_FUNCTION void add(Team const& team, Sum const* from, std::size_t columns, std::size_t first, Sum* partial,
                           Store const& store) const {
    std::size_t const width = columns - first < chain_lanes ? columns - first : chain_lanes;
    Kokkos::parallel_for(Kokkos::TeamThreadRange(team, chain_threads), [&](std::size_t thread) {
      Kokkos::parallel_for(Kokkos::ThreadVectorRange(team, width), [&](std::size_t lane) {
        Sum sum = 0;
        for (std::size_t row = thread; row < teams; row += chain_threads) sum += from[row * columns + first + lane];
        partial[thread * chain_lanes + lane] = sum;
      });
    });
    team.team_barrier();
    Kokkos::parallel_for(Kokkos::TeamThreadRange(team, std::size_t{1}), [&](std::size_t) {
      Kokkos::parallel_for(Kokkos::ThreadVectorRange(team, width), [&](std::size_t lane) {
        Sum sum = 0;
        for (std::size_t thread = 0; thread < chain_threads; ++thread) sum += partial[thread * chain_lanes + lane];
        store(first + lane, sum);
      });
    });
  }
};

}  // namespace trireme::kernels
