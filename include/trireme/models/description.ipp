/// Definitions of trireme/models/description.hpp.
#pragma once

#include "trireme/models/description.hpp"

#include <algorithm>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "trireme/backend/execution/statistics_scope.hpp"
#include "trireme/core/error.hpp"
#include "trireme/core/linkage.hpp"
#include "trireme/core/text.hpp"
#include "trireme/core/type_text.hpp"
#include "trireme/initializers/constant.hpp"
#include "trireme/initializers/initializer.hpp"
#include "trireme/layers/layer.hpp"
#include "trireme/layers/parameter.hpp"
#include "trireme/layers/regularizer.hpp"
#include "trireme/models/layer_flops.hpp"
#include "trireme/models/layer_names.hpp"
#include "trireme/models/value_sources.hpp"
#include "trireme/models/weight_table.hpp"
#include "trireme/tensor/arena.hpp"
#include "trireme/tensor/extents.hpp"
#include "trireme/tensor/parts.hpp"
#include "trireme/tensor/shape.hpp"

namespace trireme::detail {

TRIREME_INLINE void require_own_names(ModelDescription const& model) {
  auto const weights_of = [&](std::size_t layer) -> SharedWeights const* {
    auto const holds = [&](SharedLayers const& shared) { return shared.first <= layer && layer < shared.last; };
    auto const found = std::ranges::find_if(model.shared, holds);
    return found == model.shared.end() ? nullptr : found->weights.get();
  };
  for (std::size_t i = 0; i < model.layers.size(); ++i)
    for (std::size_t j = 0; j < i; ++j) {
      LayerInfo const &layer = model.layers[i], &other = model.layers[j];
      if (layer.parameters == 0 || other.parameters == 0 || layer.path != other.path) continue;
      if (weights_of(i) && weights_of(i) == weights_of(j))
        continue;  // a Shared layer that stands twice is refused as such
      throw ValueError(formatted("two layers with weights are named '{}'; give one of them another name", layer.path));
    }
}

TRIREME_INLINE std::vector<std::string> weight_names(ModelDescription const& model) {
  std::vector<std::string> names;
  for_each_weight(model, [&](WeightInfo const& weight) { names.push_back(weight.path); });
  return names;
}

TRIREME_INLINE WeightInfo const& weight_named(ModelDescription const& model, std::string_view path) {
  WeightInfo const* found = nullptr;
  for_each_weight(model, [&](WeightInfo const& weight) {
    if (weight.path == path) found = &weight;
  });
  if (found) return *found;
  throw ValueError(formatted("the model has no parameter '{}'; it has {}", path, joined(weight_names(model), ", ")));
}

TRIREME_INLINE LayerTable LayerTable::nested(std::string_view class_name, std::string_view name) const {
  LayerTable table = *this;
  table.models_ = next(class_name, name).names;
  table.folder_.clear();
  table.numbers_ = std::make_shared<LayerNames>();
  table.model_ = keras_->add_model(model_, class_name, eaches_);
  return table;
}

TRIREME_INLINE LayerTable LayerTable::folder(std::string_view name) const {
  LayerTable table = *this;
  table.folder_ += std::string(name) + "/";
  table.numbers_ = std::make_shared<LayerNames>();
  return table;
}

TRIREME_INLINE LayerTable LayerTable::on_each_part() const {
  LayerTable table = *this;
  ++table.eaches_;
  return table;
}

TRIREME_INLINE LayerTable::Paths LayerTable::next(std::string_view class_name, std::string_view name) const {
  std::string const number = numbers_->next(class_name);
  std::vector<std::string> names = models_;
  names.push_back(folder_ + (name.empty() ? number : std::string(name)));
  return {joined(names, "/"), names};
}

TRIREME_INLINE void LayerTable::add(Paths paths, std::string_view class_name, std::span<std::size_t const> output,
                                    std::span<StatedParameter const> parameters, std::span<StateShape const> states,
                                    std::size_t flops) {
  if (std::ranges::find(output, std::size_t{0}) != output.end())
    throw ShapeError(formatted("the output of layer '{}' has the extents {}, which hold no number", paths.own,
                               format_extents({output.begin(), output.end()})));
  for (StatedParameter const& p : parameters) {
    std::string const path = formatted("'{}/{}'", paths.own, p.shape.name);
    description_.config("the initializer of " + path, p.initializer);
    description_.config.list(p.regularizer, path);
  }
  std::size_t count = 0;
  std::size_t const layer = description_.layers.size();
  auto const weight = [&](std::string_view own, std::string_view group, Shape const& shape, std::size_t& elements) {
    std::size_t const offset = elements;
    elements += aligned_bytes(shape.size() * scalar_size_) / scalar_size_;
    count += shape.size();
    return WeightInfo{formatted("{}/{}", paths.own, own), layer, shape, offset, shape.size(), std::string(group)};
  };
  for (StatedParameter const& p : parameters) {
    WeightInfo info = weight(p.shape.name, p.shape.keras_group, p.shape.shape, description_.elements);
    info.input_axes = p.shape.input_axes;
    description_.parameters.push_back(
        {std::move(info), p.initializer, p.regularizer, p.by_rows && !p.regularizer.active()});
  }
  for (StateShape const& s : states)
    description_.states.push_back({weight(s.name, "", s.shape, description_.state_elements), s.initial, s.decay});
  keras_->add_layer(model_, eaches_);
  description_.layers.push_back({std::move(paths.own),
                                 {},
                                 std::string(class_name),
                                 {output.begin(), output.end()},
                                 count,
                                 flops,
                                 std::move(paths.names)});
}

/// The description so far, whose weights are taken out of it.
TRIREME_INLINE ModelDescription LayerTable::begin_freezing() {
  ModelDescription outer = description_;
  description_.parameters.clear();
  description_.states.clear();
  description_.frozen.clear();
  description_.elements = description_.state_elements = description_.frozen_elements = 0;
  return outer;
}

/// Puts the weights of `outer` back, behind which those that were added since are frozen.
TRIREME_INLINE void LayerTable::freeze_added(ModelDescription outer) {
  ModelDescription const inner = std::exchange(description_, std::move(outer));
  description_.layers = inner.layers;
  description_.shared = inner.shared;
  description_.config = inner.config;
  std::size_t offset = description_.frozen_elements;
  auto const keep = [&](auto const& weights, std::size_t elements, auto const& frozen) {
    for (auto const& weight : weights) {
      description_.frozen.push_back(frozen(weight));
      description_.frozen.back().offset += offset;
    }
    offset += elements;
  };
  keep(inner.parameters, inner.elements, [](ParameterInfo const& p) { return FrozenInfo{p, p.initializer}; });
  keep(inner.states, inner.state_elements, [](StateInfo const& s) { return FrozenInfo{s, Constant{s.initial}, true}; });
  keep(inner.frozen, inner.frozen_elements, [](FrozenInfo const& f) { return f; });
  description_.frozen_elements = offset;
  std::ranges::sort(description_.frozen, {}, [](FrozenInfo const& f) { return std::pair(f.layer, f.offset); });
}

TRIREME_INLINE void LayerTable::mixes(StatisticsScope scope) {
  description_.row_scope = std::max(description_.row_scope, scope);
  description_.mixes_replica = description_.mixes_replica || scope == StatisticsScope::replica;
}

}  // namespace trireme::detail
