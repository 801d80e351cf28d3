/// Layers of a fused training step, as the threads of a team run them on a tile of rows: Dense layers one after the
/// other, then loss and metrics.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include <Kokkos_Core.hpp>

#include "trireme/backend/execution/lanes.hpp"
#include "trireme/layers/activation_kernels.hpp"
#include "trireme/models/score_kernel.hpp"

namespace trireme::kernels {

/// Index in scratch memory, or in a chain whose weights fit there; devices divide 32 bits several times as fast as 64.
using ChainIndex = std::uint32_t;

/// Rows, or rows of a weight gradient, that a thread computes at once: a value that it loads serves all of them.
inline constexpr ChainIndex chain_block = 4;

/// Rows that a team trains on at once.
template <class Team, class T, class L>
struct ChainTile {
  Team const& team;
  T* memory;     ///< scratch memory
  double* sums;  ///< of the team, followed by those of each row
  T* gradients;  ///< of the team, in the layout of the arena
  L const* targets;
  double const* weights;  ///< one a row, or null
  ChainIndex rows;
  ChainIndex groups;  ///< of rows: row g, g + groups, … of group g
  bool is_first;      ///< true for the team's first tile, which overwrites its gradients

  /// f(e) for e < count, neighbouring threads with neighbouring e.
  template <class F>
  KOKKOS_FORCEINLINE_FUNCTION void for_each(ChainIndex count, F const& f) const {
    Kokkos::parallel_for(Kokkos::TeamVectorRange(team, count), f);
  }
  KOKKOS_FORCEINLINE_FUNCTION void barrier() const { team.team_barrier(); }
  /// Stores the sum over the tile's rows of a gradient.
  KOKKOS_FORCEINLINE_FUNCTION void add(ChainIndex element, T sum) const {
    gradients[element] = is_first ? sum : gradients[element] + sum;
  }
};

/// Inputs of the chain.
template <class T>
struct ChainInput {
  static constexpr bool has_gradient = false;
  T const* values;
  ChainIndex stride;
};

/// Outputs of a layer. In backward the gradients of what its activation was applied to take their place.
template <class T, class A>
struct ChainOutput {
  static constexpr bool has_gradient = true;
  A activation;
  T const* at;  ///< arguments of the derivative
  T* values;
  ChainIndex stride;  ///< between rows

  KOKKOS_FORCEINLINE_FUNCTION void set_gradient(ChainIndex e, T dy) const {
    values[e] = dy * activation.derivative(at[e]);
  }
};

/// A Dense layer whose weights and outputs lie in scratch memory.
template <class A, bool UseBias>
struct ChainDense {
  static constexpr bool keeps_preactivation = needs_preactivation<A>();
  A activation;
  ChainIndex inputs, units;
  ChainIndex kernel, bias;     ///< in the arena
  ChainIndex weights, biases;  ///< in scratch memory
  ChainIndex weight_stride;    ///< odd where backward reads columns, so that neighbouring threads use different banks
  ChainIndex z, y, stride;     ///< in scratch memory; z is y unless backward needs it

  /// Copies the weights to scratch memory.
  template <class Team, class T>
  KOKKOS_FUNCTION void stage(Team const& team, T const* arena, T* memory) const {
    Kokkos::parallel_for(Kokkos::TeamVectorRange(team, inputs * units), [&](ChainIndex e) {
      ChainIndex const i = e / units;
      memory[weights + i * weight_stride + (e - i * units)] = arena[kernel + e];
    });
    if constexpr (UseBias)
      Kokkos::parallel_for(Kokkos::TeamVectorRange(team, units),
                           [&](ChainIndex j) { memory[biases + j] = arena[bias + j]; });
  }

  template <class Team, class T, class L, class Input>
  KOKKOS_FUNCTION ChainOutput<T, A> forward(ChainTile<Team, T, L> const& tile, Input const& input) const {
    T* const memory = tile.memory;
    tile.for_each(tile.groups * units, [&](ChainIndex e) {
      ChainIndex const group = e / units, j = e - group * units;
      T const* x[chain_block];
      T sum[chain_block];
      for (ChainIndex k = 0; k < chain_block; ++k) {
        ChainIndex const row = group + k * tile.groups;
        x[k] = input.values + (row < tile.rows ? row : tile.rows - 1) * input.stride;
        sum[k] = T(0);
      }
      T const* w = memory + weights + j;
      for (ChainIndex i = 0; i < inputs; ++i, w += weight_stride) {
        T const weight = *w;
        for (ChainIndex k = 0; k < chain_block; ++k) sum[k] += x[k][i] * weight;
      }
      for (ChainIndex k = 0; k < chain_block; ++k) {
        ChainIndex const row = group + k * tile.groups;
        if (row >= tile.rows) break;
        T value = sum[k];
        if constexpr (UseBias) value += memory[biases + j];
        if constexpr (keeps_preactivation) memory[z + row * stride + j] = value;
        memory[y + row * stride + j] = activation(value);
      }
    });
    tile.barrier();
    return {activation, memory + z, memory + y, stride};
  }

  /// From the gradients of what the activation was applied to, which lie in the place of the outputs.
  template <class Team, class T, class L, class Input>
  KOKKOS_FUNCTION void backward(ChainTile<Team, T, L> const& tile, Input const& input) const {
    T const* const memory = tile.memory;
    T const* const dz = memory + y;
    ChainIndex const blocks = (inputs + chain_block - 1) / chain_block;
    tile.for_each(blocks * units, [&](ChainIndex e) {
      ChainIndex const block = e / units, j = e - block * units;
      T const* x[chain_block];
      T sum[chain_block];
      for (ChainIndex k = 0; k < chain_block; ++k) {
        ChainIndex const i = block + k * blocks;
        x[k] = input.values + (i < inputs ? i : inputs - 1);
        sum[k] = T(0);
      }
      for (ChainIndex row = 0; row < tile.rows; ++row) {
        T const d = dz[row * stride + j];
        for (ChainIndex k = 0; k < chain_block; ++k) sum[k] += x[k][row * input.stride] * d;
      }
      for (ChainIndex k = 0; k < chain_block; ++k) {
        ChainIndex const i = block + k * blocks;
        if (i >= inputs) break;
        tile.add(kernel + i * units + j, sum[k]);
      }
    });
    if constexpr (UseBias)
      tile.for_each(units, [&](ChainIndex j) {
        T sum = 0;
        for (ChainIndex row = 0; row < tile.rows; ++row) sum += dz[row * stride + j];
        tile.add(bias + j, sum);
      });
    tile.barrier();
    if constexpr (Input::has_gradient) {
      tile.for_each(tile.groups * inputs, [&](ChainIndex e) {
        ChainIndex const group = e / inputs, i = e - group * inputs;
        T const* d[chain_block];
        T sum[chain_block];
        for (ChainIndex k = 0; k < chain_block; ++k) {
          ChainIndex const row = group + k * tile.groups;
          d[k] = dz + (row < tile.rows ? row : tile.rows - 1) * stride;
          sum[k] = T(0);
        }
        T const* const w = memory + weights + i * weight_stride;
        for (ChainIndex j = 0; j < units; ++j) {
          T const weight = w[j];
          for (ChainIndex k = 0; k < chain_block; ++k) sum[k] += d[k][j] * weight;
        }
        for (ChainIndex k = 0; k < chain_block; ++k) {
          ChainIndex const row = group + k * tile.groups;
          if (row >= tile.rows) break;
          input.set_gradient(row * input.stride + i, sum[k]);
        }
      });
      tile.barrier();
    }
  }
};

/// A layer of a chain and what follows it: further layers, then a ChainScore.
template <class First, class Rest>
struct Chain {
  static constexpr std::size_t sums = Rest::sums;
  First first;
  Rest rest;

  template <class Team, class T>
  KOKKOS_FUNCTION void stage(Team const& team, T const* arena, T* memory) const {
    first.stage(team, arena, memory);
    rest.stage(team, arena, memory);
  }
  template <class Tile, class Input>
  KOKKOS_FUNCTION void train(Tile const& tile, Input const& input) const {
    rest.train(tile, first.forward(tile, input));
    first.backward(tile, input);
  }
};

/// Loss and metrics of a chain's outputs, which are rows without gaps.
/// \tparam Link  the activation that leads to what metrics take, or void
template <class Link, class Loss, class Metrics>
struct ChainScore;
template <class Link, class Loss, class... Metrics>
struct ChainScore<Link, Loss, MetricPack<Metrics...>> {
  static constexpr std::size_t sums = 2 + MetricPack<Metrics...>::width;
  /// True if metrics take other numbers than the loss.
  static constexpr bool has_link = !std::is_void_v<Link> && sizeof...(Metrics) > 0;

  Loss loss;
  MetricPack<Metrics...> metrics;
  double scale;  ///< 1 / the number of positions that the mean is over
  ChainIndex size;
  ChainIndex linked, gradients;  ///< in scratch memory

  template <class Team, class T>
  KOKKOS_FUNCTION void stage(Team const&, T const*, T*) const {}

  template <class Team, class T, class L, class Output>
  KOKKOS_FUNCTION void train(ChainTile<Team, T, L> const& tile, Output const& output) const {
    T* const y = has_link ? tile.memory + linked : output.values;
    T* const dy = tile.memory + gradients;
    Score<T, L, Loss, Metrics...> const score{loss, metrics, output.values,         y, tile.targets, tile.weights,
                                              size, 1,       static_cast<T>(scale), dy};
    tile.for_each(tile.rows, [&](ChainIndex row) {
      if constexpr (has_link) link(row, output.values, y);
      double own[sums] = {};
      score(row, own);
      for (std::size_t s = 0; s < sums; ++s) tile.sums[(1 + row) * sums + s] = own[s];
    });
    tile.barrier();
    tile.for_each(static_cast<ChainIndex>(sums), [&](ChainIndex s) {
      double sum = tile.sums[s];
      for (ChainIndex row = 0; row < tile.rows; ++row) sum += tile.sums[(1 + row) * sums + s];
      tile.sums[s] = sum;
    });
    tile.for_each(tile.rows * size, [&](ChainIndex e) { output.set_gradient(e, dy[e]); });
    tile.barrier();
  }

 private:
  template <class T>
  KOKKOS_FUNCTION void link(ChainIndex row, T const* z, T* y) const {
    if constexpr (Link::elementwise) {
      Activate<T, Link> const activate{Link{}, z, y};
      for (ChainIndex e = row * size; e < (row + 1) * size; ++e) activate(e);
    } else {
      ActivateRow<T, Link>{Link{}, z, y, size}(row, OneLane{});
    }
  }
};

}  // namespace trireme::kernels
