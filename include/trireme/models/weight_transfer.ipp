/// Definitions of trireme/models/weight_transfer.hpp.
#pragma once

#include "trireme/models/weight_transfer.hpp"

#include <optional>
#include <string>
#include <string_view>
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

TRIREME_INLINE TransferredWeights report(Matches const& matches) {
  TransferredWeights all;
  for (auto const& [layer, index] : matches.taken)
    for (WeightInfo const& weight : layer.weights) all.taken.push_back(weight.path);
  for (LayerWeights const& layer : matches.kept)
    for (WeightInfo const& weight : layer.weights) all.kept.push_back(weight.path);
  return all;
}

}  // namespace trireme::detail
