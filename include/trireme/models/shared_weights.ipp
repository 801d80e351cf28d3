/// Definitions of trireme/models/shared_weights.hpp.
#pragma once

#include "trireme/models/shared_weights.hpp"

#include <algorithm>
#include <cstddef>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "trireme/core/error.hpp"
#include "trireme/core/linkage.hpp"
#include "trireme/core/text.hpp"
#include "trireme/models/description.hpp"
#include "trireme/models/weight_table.hpp"
#include "trireme/tensor/extents.hpp"

namespace trireme::detail {

TRIREME_INLINE void SharedWeights::join(std::shared_ptr<Member> const& member) { members_.push_back(member); }

TRIREME_INLINE std::vector<std::shared_ptr<SharedWeights::Member>> SharedWeights::members() {
  std::erase_if(members_, [](auto const& member) { return member.expired(); });
  std::vector<std::shared_ptr<Member>> alive;
  for (auto const& member : members_) alive.push_back(member.lock());
  return alive;
}

TRIREME_INLINE std::size_t SharedWeights::models() const {
  return static_cast<std::size_t>(
      std::ranges::count_if(members_, [](auto const& member) { return !member.expired(); }));
}

TRIREME_INLINE ValueError not_reached(char const* call, std::string const& path, std::size_t others, std::size_t own) {
  return ValueError(formatted(
      "'{}' needs the newest weights of '{}', a Shared layer that a model on {} process{} has changed since they were "
      "published, and the model that it is called for, on {}, cannot get them: call it at the end of an epoch, or "
      "after publish_shared of the other model",
      call, path, others, others == 1 ? "" : "es", own));
}

TRIREME_INLINE void require_shared_once(ModelDescription const& model) {
  std::set<SharedWeights const*> seen;
  for (SharedLayers const& layers : model.shared)
    if (!seen.insert(layers.weights.get()).second)
      raise_uniform(ValueError(
          formatted("the layer '{}' is Shared and stands twice in one model", model.layers[layers.first].path)));
}

TRIREME_INLINE void require_fit(std::vector<WeightInfo> const& weights, SharedWeights const& shared) {
  auto const& tensors = shared.tensors;
  for (std::size_t i = 0; i < weights.size(); ++i) {
    WeightInfo const& weight = weights[i];
    if (i < tensors.size() && tensors[i].extents == weight.shape.to_vector()) continue;
    raise_uniform(ShapeError(formatted("'{}' is Shared and has extents {}, but {} in the model that was compiled first",
                                       weight.path, format_extents(weight.shape.to_vector()),
                                       i < tensors.size() ? format_extents(tensors[i].extents) : "none")));
  }
}

}  // namespace trireme::detail
