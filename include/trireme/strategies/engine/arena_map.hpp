/// ArenaMap: the elements of a model's arena that each process holds, known to all without communication.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "trireme/models/description.hpp"
#include "trireme/models/layer_placement.hpp"
#include "trireme/models/weight_table.hpp"

namespace trireme {

/// Elements [begin, end) of the arena, at `local` in the memory of the process that holds them.
struct HeldRange {
  std::size_t begin, end;
  std::size_t local;
};

class ArenaMap {
 public:
  ArenaMap() = default;
  /// \param ranks  the ranges of each rank, ascending and without gaps in its own memory; some rank holds each element.
  explicit ArenaMap(std::vector<std::vector<HeldRange>> ranks) : ranks_(std::move(ranks)) {}

  /// Number of ranks.
  std::size_t ranks() const { return ranks_.size(); }
  /// Ranges of the arena that a rank holds.
  std::vector<HeldRange> const& of(std::size_t rank) const { return ranks_[rank]; }
  /// Elements that a rank holds.
  std::size_t size(std::size_t rank) const;

  /// f(first, local, count) for the elements of [begin, end) that `rank` holds.
  template <class F>
  void for_each_held(std::size_t rank, std::size_t begin, std::size_t end, F const& f) const {
    for (HeldRange const& range : ranks_[rank]) {
      std::size_t const first = std::max(begin, range.begin), last = std::min(end, range.end);
      if (first < last) f(first, range.local + (first - range.begin), last - first);
    }
  }

  /// f(rank, first, local, count) over pieces of [begin, end) in order, of at most `largest` elements, each with the
  /// first rank that holds it.
  template <class F>
  void for_each_source(std::size_t begin, std::size_t end, std::size_t largest, F const& f) const {
    while (begin < end) {
      std::size_t count = 0;
      for (std::size_t rank = 0; rank < ranks_.size() && count == 0; ++rank)
        for (HeldRange const& range : ranks_[rank])
          if (range.begin <= begin && begin < range.end && count == 0) {
            count = std::min({range.end - begin, end - begin, largest});
            f(rank, begin, range.local + (begin - range.begin), count);
          }
      begin += count;
    }
  }

 private:
  std::vector<std::vector<HeldRange>> ranks_;
};

/// For each layer, as text, the ranks that hold some of its weights; of a map of the parameters alone, those that hold
/// some of its parameters.
inline std::vector<std::string> layer_holders(ModelDescription const& model, ArenaMap const& map) {
  std::vector<std::vector<std::size_t>> ranks(model.layers.size());
  for (std::size_t rank = 0; rank < map.ranks(); ++rank)
    for_each_weight(model, [&](WeightInfo const& weight) {
      map.for_each_held(rank, weight.offset, weight.offset + weight.size, [&](std::size_t, std::size_t, std::size_t) {
        auto& of_layer = ranks[weight.layer];
        if (of_layer.empty() || of_layer.back() != rank) of_layer.push_back(rank);
      });
    });
  std::vector<std::string> texts;
  for (auto const& of_layer : ranks) texts.push_back(detail::rank_text(of_layer));
  return texts;
}

/// The division of a model among the ranks of a group.
struct ModelDivision {
  ArenaMap weights;  ///< of the whole arena: parameters, then states
  ArenaMap slots;    ///< of the parameters that a rank updates and holds the optimizer state of
  std::size_t states_begin = 0, states_end = 0;  ///< that this rank holds, counted from the first state
};

/// The description of what `rank` holds, for its optimizer: the same parameters in the same order, each with the size
/// (possibly 0) and the offset of the part that is held, which must be contiguous; and the states [states_begin,
/// states_end), counted from the model's first, with offsets from the first one that is held.
ModelDescription held_part(ModelDescription const& model, ArenaMap const& map, std::size_t rank,
                           std::size_t states_begin, std::size_t states_end);

}  // namespace trireme

#ifndef TRIREME_COMPILED
#include "trireme/strategies/engine/arena_map.ipp"
#endif
