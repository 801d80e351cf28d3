/// Definitions of trireme/models/weight_transfer.hpp.
#pragma once

#include "trireme/models/weight_transfer.hpp"

#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "trireme/core/error.hpp"
#include "trireme/core/linkage.hpp"
#include "trireme/core/text.hpp"
#include "trireme/io/weights_index.hpp"
#include "trireme/models/state_file.hpp"
#include "trireme/tensor/extents.hpp"

namespace trireme::detail {

TRIREME_INLINE std::optional<std::string> below(std::string const& path, std::string_view folder) {
  while (folder.ends_with('/')) folder.remove_suffix(1);
  if (folder.empty()) return path;
  if (path == folder) return std::string();
  if (!path.starts_with(folder) || path[folder.size()] != '/') return std::nullopt;
  return path.substr(folder.size() + 1);
}

TRIREME_INLINE std::string path_in(std::string_view folder, std::string const& rest) {
  while (folder.ends_with('/')) folder.remove_suffix(1);
  if (folder.empty() || rest.empty()) return std::string(folder) + rest;
  return formatted("{}/{}", folder, rest);
}

TRIREME_INLINE std::vector<LayerWeights> weights_by_layer(ModelDescription const& model) {
  std::vector<LayerWeights> layers;
  for_each_weight(model, [&](WeightInfo const& weight) {
    if (layers.empty() || !in_one_group(layers.back().weights[0], weight))
      layers.push_back({weight.path.substr(0, weight.path.rfind('/')), stored_group(model, weight), layers.size(), {}});
    layers.back().weights.push_back(weight);
  });
  return layers;
}

TRIREME_INLINE Matches match(ModelDescription const& model, std::map<std::string, SourceLayer> const& source,
                             bool skip_mismatch, std::string_view from,
                             std::function<std::optional<std::string>(LayerWeights const&)> const& key,
                             std::function<void(std::string const&)> const& refuse) {
  Matches matches;
  for (LayerWeights& layer : weights_by_layer(model)) {
    std::optional<std::string> const name = key(layer);
    if (!name) continue;
    auto const found = source.find(*name);
    std::string reason;
    if (found == source.end()) {
      reason = formatted("has no layer '{}' for the model's '{}'", path_in(from, *name), layer.path);
    } else if (auto const& variables = found->second.variables; variables.size() != layer.weights.size()) {
      reason = formatted("has {} weights in its layer '{}' where the model's '{}' has {}", variables.size(),
                         path_in(from, *name), layer.path, layer.weights.size());
    } else {
      for (std::size_t i = 0; i < variables.size() && reason.empty(); ++i)
        if (auto const own = layer.weights[i].shape.to_vector(); variables[i] != own)
          reason = formatted("has extents {} for '{}', whose own are {}", format_extents(variables[i]),
                             layer.weights[i].path, format_extents(own));
    }
    if (reason.empty()) {
      matches.taken.emplace_back(std::move(layer), found->second.index);
    } else {
      if (!skip_mismatch) refuse(reason);
      matches.kept.push_back(std::move(layer));
    }
  }
  if (matches.taken.empty())
    refuse(matches.kept.empty() ? "is to give weights to layers of the model that it does not have"
                                : "has no layer that fits the model");
  return matches;
}

TRIREME_INLINE void add_layer(std::map<std::string, SourceLayer>& source, std::string const& name, SourceLayer layer,
                              std::function<void(std::string const&)> const& refuse) {
  if (!source.emplace(name, std::move(layer)).second)
    refuse(formatted("has two layers named '{}', so that names do not tell them apart", name));
}

TRIREME_INLINE TransferredWeights report(Matches const& matches) {
  TransferredWeights all;
  for (auto const& [layer, index] : matches.taken)
    for (WeightInfo const& weight : layer.weights) all.taken.push_back(weight.path);
  for (LayerWeights const& layer : matches.kept)
    for (WeightInfo const& weight : layer.weights) all.kept.push_back(weight.path);
  return all;
}

}  // namespace trireme::detail
