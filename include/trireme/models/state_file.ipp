/// Definitions of trireme/models/state_file.hpp.
#pragma once

#include "trireme/models/state_file.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "trireme/core/config.hpp"
#include "trireme/core/error.hpp"
#include "trireme/core/linkage.hpp"
#include "trireme/core/text.hpp"
#include "trireme/io/file_format.hpp"
#include "trireme/io/named_tensor.hpp"
#include "trireme/io/weights_file.hpp"
#include "trireme/io/weights_index.hpp"
#include "trireme/models/description.hpp"
#include "trireme/models/inference_model.hpp"
#include "trireme/mpi/fault/abort_message.hpp"

namespace trireme::detail {

TRIREME_INLINE std::string stored_group(ModelDescription const& model, WeightInfo const& weight) {
  std::string const& layer = model.layers[weight.layer].keras_path;
  return weight.keras_group.empty() ? layer + "/vars" : formatted("{}/{}/vars", layer, weight.keras_group);
}

TRIREME_INLINE std::vector<ParameterInfo const*> stored_parameters(ModelDescription const& model) {
  std::vector<ParameterInfo const*> parameters;
  for (ParameterInfo const& parameter : model.parameters) parameters.push_back(&parameter);
  std::ranges::sort(parameters, {}, [&](ParameterInfo const* parameter) {
    return std::pair(model.layers[parameter->layer].keras_rank, parameter->offset);
  });
  return parameters;
}

TRIREME_INLINE bool holds_optimizer(std::string const& path, std::size_t variables, NamedGroup const& optimizer) {
  auto const holds = [&](std::size_t index) { return weights_hold(path, formatted("optimizer/vars/{}", index)); };
  if (!holds(0)) return false;
  std::string const stored = weights_name(path, optimizer);
  if (!stored.empty() && stored != optimizer.name) {
    report(
        formatted("trireme: warning: {}: the optimizer's state is left out, since it is that of {}, and this model's "
                  "optimizer is {}",
                  path, printable(stored, 200), optimizer.name));
    return false;
  }
  if (holds(variables - 1) && !holds(variables)) return true;
  report(
      formatted("trireme: warning: {}: the optimizer's state is left out, since it does not have the {} variables of "
                "this model's optimizer",
                path, variables));
  return false;
}

/// True if name I of a layer, or of a model around it, is not one that numbering its class gives.
TRIREME_INLINE bool is_named(LayerInfo const& layer, std::size_t i) {
  if (i >= layer.names.size()) return false;
  auto const without_number = [](std::string const& name) {
    std::size_t const last = name.find_last_not_of("0123456789");
    return last + 1 < name.size() && name[last] == '_' ? name.substr(0, last) : name;
  };
  return without_number(layer.names[i]) != without_number(path_parts(layer.keras_path)[2 * i + 1]);
}

TRIREME_INLINE std::vector<StoredLayer> layers_to_warn_of(std::string const& path) {
  try {
    return weights_index(path);
  } catch (FileError const&) {
    return {};
  }
}

TRIREME_INLINE void warn_of_other_places(std::string const& path, std::vector<StoredLayer> const& index,
                                         ModelDescription const& model) {
  std::map<std::string, LayerInfo const*> by_name, by_place;
  for_each_stored_weight(model, [&](std::vector<std::string> const& place, std::size_t, WeightInfo const& weight) {
    by_name[weight.path.substr(0, weight.path.rfind('/'))] = by_place[joined(place, "/")] = &model.layers[weight.layer];
  });
  for (StoredLayer const& stored : index) {
    auto const here = by_place.find(stored.group), other = by_name.find(stored.path);
    if (here == by_place.end() || other == by_name.end() || here->second == other->second) continue;
    LayerInfo const &at_place = *here->second, &named = *other->second;
    auto const differ = std::ranges::mismatch(at_place.names, named.names).in1 - at_place.names.begin();
    if (!is_named(at_place, static_cast<std::size_t>(differ)) && !is_named(named, static_cast<std::size_t>(differ)))
      continue;
    report(
        formatted("trireme: warning: {}: layer '{}' takes the weights of the file's '{}', which stand at its place; "
                  "{{.by_name = true}} takes those of its name",
                  path, at_place.path, printable(stored.path, 200)));
    return;
  }
}

TRIREME_INLINE void require_optimizer_numbers(std::string const& path, std::int64_t iteration,
                                              std::optional<double> learning_rate) {
  try {
    require_in(intervals::count, "the number of steps", static_cast<double>(iteration));
    if (learning_rate) require_in(intervals::not_negative, "the learning rate", *learning_rate);
  } catch (ValueError const& error) {
    throw FileError(path, error.what());
  }
}

TRIREME_INLINE std::vector<NamedGroup> layer_groups(ModelDescription const& model) {
  std::vector<NamedGroup> groups;
  std::set<std::string> written;
  for (LayerInfo const& layer : model.layers) {
    auto const places = path_parts(layer.keras_path);  // "layers/x/layers/y"
    std::vector<std::string> group;
    for (std::size_t i = 0; i < layer.names.size(); ++i) {
      group.insert(group.end(), {places[2 * i], places[2 * i + 1]});
      if (!written.insert(joined(group, "/")).second) continue;
      groups.push_back({group, layer.names[i]});
      groups.back().path.push_back("vars");
    }
  }
  for_each_stored_weight(model, [&](std::vector<std::string> path, std::size_t index, WeightInfo const& weight) {
    if (weight.keras_group.empty() || index != 0) return;
    std::string const own = weight.path.substr(model.layers[weight.layer].path.size() + 1);  // "lstm_cell/kernel"
    groups.push_back({std::move(path), own.substr(0, own.find('/'))});
  });
  return groups;
}

}  // namespace trireme::detail
