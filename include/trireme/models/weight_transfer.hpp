/// Weights taken from a file or from another model, matched by place or by name, all of them or some.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "trireme/core/error.hpp"
#include "trireme/core/text.hpp"
#include "trireme/io/weights_index.hpp"
#include "trireme/models/state_file.hpp"
#include "trireme/tensor/extents.hpp"

namespace trireme {

/// Matching of a file's layers with a model's, for `load_weights(path, options)`. Layers match that have the same
/// numbers and extents of weights. Designated initializers name the members in this order.
struct LoadOptions {
  /// Layers that have the same name, nested ones with those around them ("encoder/dense_1"), instead of the layers that
  /// stand at the same place of their class in Keras's numbering.
  bool by_name = false;
  /// Only the file's layers below this one, whose names then begin behind it: "encoder". Implies `by_name`.
  std::string from{};
  /// Only the model's layers below this one, likewise.
  std::string into{};
  /// Layers that the file lacks, or has in other extents, keep their weights; otherwise they are an error.
  bool skip_mismatch = false;
};

/// Matching of another model's layers with this one's, for `copy_weights`, always by name; members as in LoadOptions.
struct CopyOptions {
  std::string from{};
  std::string into{};
  bool skip_mismatch = false;
};

/// Outcome of a transfer: paths of weights, such as "dense/kernel". The same on every process.
struct TransferredWeights {
  std::vector<std::string> taken;
  std::vector<std::string> kept;  ///< those that should have had a match, and have none
};

namespace detail {

/// The rest of a path below a folder ("encoder" or "encoder/"); none where it lies elsewhere.
std::optional<std::string> below(std::string const& path, std::string_view folder);
/// The path that `below` takes apart: "encoder/dense" of "encoder" or "encoder/" and "dense".
std::string path_in(std::string_view folder, std::string const& rest);

/// Weights of one layer, or of one within it as an LSTM's cell, in Keras's order.
struct LayerWeights {
  std::string path;   ///< by names of users: "dense", "lstm/lstm_cell"
  std::string place;  ///< the group of a file: "layers/dense/vars"
  std::size_t index;  ///< in `weights_by_layer`
  std::vector<WeightInfo> weights;
};

std::vector<LayerWeights> weights_by_layer(ModelDescription const& model);

/// A layer of a source under its key: the extents of the layer's variables, and where the source keeps them.
struct SourceLayer {
  std::vector<std::vector<std::size_t>> variables;
  std::size_t index = 0;
};

/// The layers of a model with what they take from a source; `kept` are those without a match.
struct Matches {
  std::vector<std::pair<LayerWeights, std::size_t>> taken;
  std::vector<LayerWeights> kept;
};

/// \param from    the folder of the source below which its names lie, for messages
/// \param key     the name under which `source` would have a layer of the model; none: the layer is left out
/// \param refuse  throws with the reason why a layer has no match
Matches match(ModelDescription const& model, std::map<std::string, SourceLayer> const& source, bool skip_mismatch,
              std::string_view from, std::function<std::optional<std::string>(LayerWeights const&)> const& key,
              std::function<void(std::string const&)> const& refuse);

TransferredWeights report(Matches const& matches);

/// Adds a layer under its name, which has to be the only one.
void add_layer(std::map<std::string, SourceLayer>& source, std::string const& name, SourceLayer layer,
               std::function<void(std::string const&)> const& refuse);

}  // namespace detail

/// Sets those weights of the engine that the file has under matching places or names; the optimizer's state stays as it
/// is. Only the chief reads the file. Collective.
/// \throws FileError that names the file and the layer, the same on every process, if it cannot be read, a layer has no
/// match (unless `skip_mismatch`), none has one, or two have the same name; nothing is changed then.
template <class Engine>
TransferredWeights load_matching(Engine& engine, std::string const& path, LoadOptions const& options) {
  using T = typename Engine::T;
  ModelDescription const& model = engine.model().description();
  bool const by_name = options.by_name || !options.from.empty() || !options.into.empty();
  bool const is_chief = engine.group().is_chief();
  detail::Matches matches;
  std::vector<StoredLayer> stored;
  auto const layers = detail::weights_by_layer(model);
  std::vector<std::uint8_t> taken(layers.size());  // sent to the other processes
  engine.group().together([&] {
    if (!is_chief) return;
    auto const refuse = [&](std::string const& reason) { throw FileError(path, reason); };
    std::map<std::string, detail::SourceLayer> source;
    stored = weights_index(path);
    for (std::size_t i = 0; i < stored.size(); ++i) {
      auto const name = by_name ? detail::below(stored[i].path, options.from) : stored[i].group;
      if (name) detail::add_layer(source, *name, {stored[i].variables, i}, refuse);
    }
    matches = detail::match(
        model, source, options.skip_mismatch, options.from,
        [&](detail::LayerWeights const& layer) {
          return by_name ? detail::below(layer.path, options.into) : std::optional(layer.place);
        },
        refuse);
    for (auto const& [layer, index] : matches.taken) taken[layer.index] = 1;
    for (detail::LayerWeights const& layer : matches.kept) taken[layer.index] = 2;
  });
  engine.group().broadcast(taken);
  for (detail::LayerWeights const& layer : layers) {
    if (is_chief) continue;
    std::uint8_t const fate = taken[layer.index];
    if (fate == 1) matches.taken.emplace_back(layer, 0);
    if (fate == 2) matches.kept.push_back(layer);
  }

  // All are read before the first is set.
  std::vector<std::vector<T>> values;
  engine.group().together([&] {
    std::vector<NamedDestination> destinations;
    for (auto const& [layer, index] : matches.taken)
      for (WeightInfo const& weight : layer.weights) values.emplace_back(weight.size);
    if (!is_chief) return;
    std::size_t next = 0;
    for (auto const& [layer, index] : matches.taken)
      for (std::size_t i = 0; i < layer.weights.size(); ++i)
        destinations.push_back(named_destination(path_parts(stored[index].group), i, layer.weights[i].shape.to_vector(),
                                                 values[next++].data()));
    read_tensors(path, destinations);
    if (!by_name && matches.kept.empty()) detail::warn_of_other_places(path, stored, model);
  });
  std::size_t next = 0;
  for (auto const& [layer, index] : matches.taken)
    for (WeightInfo const& weight : layer.weights) engine.weights().set_values(weight.offset, values[next++]);
  return detail::report(matches);
}

/// Sets those weights of `engine` that another model, on the same processes, has under matching names. Collective.
/// \throws ValueError on all processes that names the layer, if one has no match (unless `skip_mismatch`), none has
/// one, or two have the same name; nothing is changed then.
template <class Engine, class OtherEngine>
TransferredWeights copy_matching(Engine& engine, OtherEngine const& other, CopyOptions const& options) {
  using T = typename Engine::T;
  auto const refuse = [](std::string const& reason) {
    raise_uniform(ValueError(formatted("the model to copy weights from {}", reason)));
  };
  auto const others = detail::weights_by_layer(other.model().description());
  std::map<std::string, detail::SourceLayer> source;
  for (std::size_t i = 0; i < others.size(); ++i) {
    auto const name = detail::below(others[i].path, options.from);
    if (!name) continue;
    detail::SourceLayer layer{{}, i};
    for (WeightInfo const& weight : others[i].weights) layer.variables.push_back(weight.shape.to_vector());
    detail::add_layer(source, *name, std::move(layer), refuse);
  }
  auto const matches = detail::match(
      engine.model().description(), source, options.skip_mismatch, options.from,
      [&](detail::LayerWeights const& layer) { return detail::below(layer.path, options.into); }, refuse);
  for (auto const& [layer, index] : matches.taken)
    for (std::size_t i = 0; i < layer.weights.size(); ++i) {
      WeightInfo const& from = others[index].weights[i];
      auto const values = detail::values_on_all(other, from.offset, from.size);
      std::vector<T> own(values.begin(), values.end());
      engine.weights().set_values(layer.weights[i].offset, own);
    }
  return detail::report(matches);
}

}  // namespace trireme

#ifndef TRIREME_COMPILED
#include "trireme/models/weight_transfer.ipp"
#endif
