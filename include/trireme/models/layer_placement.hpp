/// LayerPlacement: the ranks of each layer, under strategies that give ranks different layers or weights.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "trireme/core/text.hpp"

namespace trireme {

/// Column of `summary` and line of `plot_model`'s boxes: "Stage" with a text such as "1 (ranks 1, 3)" for each layer of
/// the model's description.
struct LayerPlacement {
  std::string header;               ///< "Stage", "Held by"; the picture has it in lower case
  std::vector<std::string> layers;  ///< an empty text for a layer that has no place; none at all: every rank has all

  /// True if every rank has all layers.
  bool empty() const { return layers.empty(); }
};

namespace detail {

/// The placement of an engine's layers. An engine without `layer_placement() const` places all layers alike.
template <class Engine>
LayerPlacement layer_placement_of(Engine const& engine) {
  if constexpr (requires { engine.layer_placement(); })
    return engine.layer_placement();
  else
    return {};
}

/// "rank 2", "ranks 0, 1", "ranks 4-7", "ranks 0, 4, 8, ..., 60". Empty for no rank.
inline std::string rank_text(std::vector<std::size_t> const& ascending) {
  constexpr std::size_t most = 4;
  std::size_t const count = ascending.size();
  if (count == 0) return {};
  if (count == 1) return formatted("rank {}", ascending[0]);
  if (count > 2 && ascending.back() - ascending.front() + 1 == count)
    return formatted("ranks {}-{}", ascending.front(), ascending.back());
  std::vector<std::string> ranks;
  for (std::size_t i = 0; i < count; ++i) {
    if (count > most && i == most - 1) {
      ranks.emplace_back("...");
      i = count - 1;
    }
    ranks.push_back(formatted("{}", ascending[i]));
  }
  return "ranks " + joined(ranks, ", ");
}

}  // namespace detail

}  // namespace trireme
