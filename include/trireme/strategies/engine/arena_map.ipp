/// Definitions of trireme/strategies/engine/arena_map.hpp.
#pragma once

#include "trireme/strategies/engine/arena_map.hpp"

#include <cstddef>
#include <utility>

#include "trireme/core/linkage.hpp"
#include "trireme/models/description.hpp"

namespace trireme {

TRIREME_INLINE std::size_t ArenaMap::size(std::size_t rank) const {
  std::size_t elements = 0;
  for (HeldRange const& range : ranks_[rank]) elements += range.end - range.begin;
  return elements;
}

TRIREME_INLINE ModelDescription held_part(ModelDescription const& model, ArenaMap const& map, std::size_t rank,
                                          std::size_t states_begin, std::size_t states_end) {
  ModelDescription part;
  for (ParameterInfo parameter : model.parameters) {
    std::size_t const begin = parameter.offset, end = parameter.offset + parameter.size;
    parameter.offset = parameter.size = 0;
    map.for_each_held(rank, begin, end, [&](std::size_t, std::size_t local, std::size_t count) {
      parameter.offset = local;
      parameter.size = count;
    });
    part.parameters.push_back(std::move(parameter));
  }
  for (StateInfo state : model.states) {
    std::size_t const at = state.offset - model.elements;
    if (at < states_begin || at >= states_end) continue;
    state.offset = at - states_begin;
    part.states.push_back(std::move(state));
  }
  part.elements = map.size(rank);
  part.state_elements = states_end - states_begin;
  return part;
}

}  // namespace trireme
