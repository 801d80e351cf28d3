/// The division of a model among shards: constant expressions where the model's extents are static.
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <vector>

#include "trireme/backend/execution/parallelism.hpp"
#include "trireme/models/cost.hpp"
#include "trireme/models/slices.hpp"
#include "trireme/mpi/rank_parts.hpp"
#include "trireme/strategies/engine/arena_map.hpp"
#include "trireme/tensor/arena.hpp"

namespace trireme {

/// The elements of one slice of the arena that a rank owns: whole lines of it, possibly none. Stages 1 and 2, where
/// every rank holds all parameters, divide the arena as one; stage 3 divides each slice evenly, so that all ranks send
/// when it is gathered.
template <class T, std::size_t Stage>
constexpr RowRange owned_elements(SliceRange const& slice, std::size_t elements, std::size_t rank, std::size_t ranks) {
  constexpr std::size_t line = arena_alignment / sizeof(T);
  if constexpr (Stage == 3) {
    RowRange const lines = row_range((slice.elements() + line - 1) / line, rank, ranks);
    return {std::min(slice.begin + lines.begin * line, slice.end), std::min(slice.begin + lines.end * line, slice.end)};
  } else {
    RowRange const lines = row_range((elements + line - 1) / line, rank, ranks);
    std::size_t const begin = std::clamp(lines.begin * line, slice.begin, slice.end);
    return {begin, std::clamp(lines.end * line, begin, slice.end)};
  }
}

/// Elements that a rank owns of all slices.
template <class T, std::size_t Stage>
constexpr std::size_t shard_elements(std::span<SliceRange const> slices, std::size_t rank, std::size_t ranks) {
  std::size_t elements = 0;
  for (SliceRange const& slice : slices) {
    RowRange const own = owned_elements<T, Stage>(slice, slices.back().end, rank, ranks);
    elements += own.end - own.begin;
  }
  return elements;
}

/// The size of the largest slice.
constexpr std::size_t largest_slice(std::span<SliceRange const> slices) {
  std::size_t largest = 0;
  for (SliceRange const& slice : slices) largest = std::max(largest, slice.elements());
  return largest;
}

/// Buffers of a slice: one that is worked on, and one that travels.
constexpr std::size_t slice_buffers(std::size_t slices) { return std::min<std::size_t>(2, slices); }

/// Bytes that a rank takes for the model under ShardedStrategy, for any batch. Memory of batches, such as activations,
/// comes on top (`workspace_bytes`), and a number for each parameter that is clipped.
struct ShardedMemory {
  std::size_t parameters = 0;  ///< all of them under stages 1 and 2, the shard under stage 3; states and frozen weights
  std::size_t gradients = 0;   ///< all under stage 1, the shard under 2 and 3; and the updates of states
  std::size_t optimizer = 0;   ///< the shard's
  std::size_t buffers = 0;     ///< two slices of gradients under stage 2; of parameters too under stage 3

  /// Bytes of all.
  constexpr std::size_t total() const { return parameters + gradients + optimizer + buffers; }
};

/// `constexpr auto use = sharded_memory<float, 3>(architecture, /*slots*/ 2, /*rank*/ 0, /*ranks*/ 4);`
template <class T, std::size_t Stage, class Architecture>
constexpr ShardedMemory sharded_memory(Architecture const& architecture, std::size_t slots, std::size_t rank,
                                       std::size_t ranks) {
  Slices<T, Architecture> const slices(architecture);
  ModelCost const cost = model_cost<T>(architecture);
  std::size_t const shard = shard_elements<T, Stage>(slices.ranges(), rank, ranks) * sizeof(T);
  std::size_t const buffers = slice_buffers(slices.count) * largest_slice(slices.ranges()) * sizeof(T);
  return {(Stage == 3 ? shard : cost.arena_bytes) + cost.state_bytes + cost.frozen_bytes,
          (Stage == 1 ? cost.arena_bytes : shard) + cost.state_bytes, slots * shard,
          Stage == 1 ? 0 : (Stage == 2 ? buffers : 2 * buffers)};
}

/// The division of a model's arena over the ranks of a group.
template <class T, std::size_t Stage>
class ShardLayout {
 public:
  /// Layout of the slices for one rank of a group.
  ShardLayout(std::span<SliceRange const> slices, std::size_t rank, std::size_t ranks)
      : slices_(slices.begin(), slices.end()), rank_(rank), ranks_(ranks) {
    std::size_t local = 0;
    for (SliceRange const& slice : slices) {
      std::vector<std::size_t> counts;
      for (std::size_t r = 0; r < ranks; ++r) {
        RowRange const range = owned(slice, r);
        counts.push_back(range.end - range.begin);
      }
      parts_.emplace_back(std::move(counts));
      own_.push_back({owned(slice, rank).begin, owned(slice, rank).end, local});
      local += parts_.back().count(rank);
    }
  }

  /// Number of slices.
  std::size_t count() const { return slices_.size(); }
  /// Place of slice i in the arena.
  SliceRange const& slice(std::size_t i) const { return slices_[i]; }
  /// Elements of all parameters.
  std::size_t elements() const { return slices_.back().end; }
  /// Elements of the largest slice.
  std::size_t largest() const { return largest_slice(slices_); }
  /// This rank's part of a slice, `local` counted in its shard.
  HeldRange const& own(std::size_t i) const { return own_[i]; }
  /// All ranks' parts of it.
  RankParts const& parts(std::size_t i) const { return parts_[i]; }

  /// The map of the shards.
  ArenaMap shards() const {
    std::vector<std::vector<HeldRange>> ranks(ranks_);
    for (std::size_t r = 0; r < ranks_; ++r) {
      std::size_t local = 0;
      for (SliceRange const& slice : slices_) {
        RowRange const range = owned(slice, r);
        ranks[r].push_back({range.begin, range.end, local});
        local += range.end - range.begin;
      }
    }
    return ArenaMap(std::move(ranks));
  }
  /// The map of the weights that each rank holds, including `behind` elements behind the parameters: under stage 3 its
  /// shard, otherwise all.
  ArenaMap weights(std::size_t behind) const {
    std::vector<std::vector<HeldRange>> ranks(ranks_);
    ArenaMap const owners = shards();
    for (std::size_t r = 0; r < ranks_; ++r) {
      if (Stage == 3)
        ranks[r] = owners.of(r);
      else
        ranks[r].push_back({0, elements(), 0});
      ranks[r].push_back({elements(), elements() + behind, Stage == 3 ? owners.size(r) : elements()});
    }
    return ArenaMap(std::move(ranks));
  }
  /// The shards' sizes, in the order of the ranks.
  RankParts shard_sizes() const {
    ArenaMap const owners = shards();
    std::vector<std::size_t> counts;
    for (std::size_t r = 0; r < ranks_; ++r) counts.push_back(owners.size(r));
    return RankParts(std::move(counts));
  }

 private:
  RowRange owned(SliceRange const& slice, std::size_t rank) const {
    return owned_elements<T, Stage>(slice, slices_.back().end, rank, ranks_);
  }

  std::vector<SliceRange> slices_;
  std::size_t rank_, ranks_;
  std::vector<RankParts> parts_;
  std::vector<HeldRange> own_;
};

}  // namespace trireme
