/// ModelDescription: a model as a table, for initializing, saving, summing up and cutting into buckets.
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "trireme/backend/execution/statistics_scope.hpp"
#include "trireme/core/text.hpp"
#include "trireme/core/type_text.hpp"
#include "trireme/initializers/constant.hpp"
#include "trireme/initializers/initializer.hpp"
#include "trireme/layers/layer.hpp"
#include "trireme/layers/parameter.hpp"
#include "trireme/layers/regularizer.hpp"
#include "trireme/models/keras_order.hpp"
#include "trireme/models/layer_flops.hpp"
#include "trireme/models/layer_names.hpp"
#include "trireme/models/value_sources.hpp"
#include "trireme/models/weight_table.hpp"
#include "trireme/tensor/arena.hpp"
#include "trireme/tensor/extents.hpp"
#include "trireme/tensor/parts.hpp"
#include "trireme/tensor/shape.hpp"

namespace trireme {

namespace detail {

/// A parameter as its layer states it.
struct StatedParameter {
  ParameterShape shape;
  Initializer initializer;
  Regularizer regularizer;
  bool by_rows = false;
};

/// \throws ValueError if two layers with weights have one path, by which weights are found and take their initial
/// values; but for a Shared layer that stands twice.
void require_own_names(ModelDescription const& model);

/// Paths of all weights, layer after layer.
std::vector<std::string> weight_names(ModelDescription const& model);
/// The weight of this path. \throws ValueError that lists all paths, if there is none.
WeightInfo const& weight_named(ModelDescription const& model, std::string_view path);

/// Builder of a description: the part that does not depend on the types of layers.
class LayerTable {
 public:
  LayerTable(ModelDescription& description, std::size_t scalar_size)
      : description_(description), scalar_size_(scalar_size) {}

  /// The table of a model that stands as the next layer of this one.
  LayerTable nested(std::string_view class_name, std::string_view name) const;

  /// The table of layers whose names begin with a folder of the user's. Keras has no such layer, and numbers those
  /// within it like those beside it.
  LayerTable folder(std::string_view name) const;

  /// The table of a layer that Each goes around.
  LayerTable on_each_part() const;

  /// Path of the next layer, by the user's names or Keras's; `names` as of LayerInfo.
  struct Paths {
    std::string own;
    std::vector<std::string> names;
  };
  Paths next(std::string_view class_name, std::string_view name) const;

  /// The numbers of a layer, before anything is computed from them.
  template <class L>
  void list(L const& layer, Paths const& paths) {
    std::string const owner = formatted("layer '{}'", paths.own);
    description_.config.add(owner, type_text<L>());
    description_.config.list(layer, owner);
  }

  /// \throws ShapeError if an extent of its output is 0
  void add(Paths paths, std::string_view class_name, std::span<std::size_t const> output,
           std::span<StatedParameter const> parameters, std::span<StateShape const> states, std::size_t flops);

  /// Freezes the layers that `add_layers` adds: one after the other lie their parameters, their states, and what was
  /// frozen among them already.
  template <class F>
  void freeze(F const& add_layers) {
    ModelDescription outer = begin_freezing();
    add_layers();
    freeze_added(std::move(outer));
  }

  /// Notes that the layers which `add_layers` adds are those of a Shared.
  template <class F>
  void share(std::shared_ptr<SharedWeights> const& weights, F const& add_layers) {
    std::size_t const first = description_.layers.size();
    add_layers();
    description_.shared.push_back({weights, first, description_.layers.size()});
  }

  void mixes(StatisticsScope scope);

  /// Adds the join of the branches before it, which is no layer of its own.
  void add_join() { keras_->add_join(model_, eaches_); }

  KerasModels const& keras_models() const { return *keras_; }

 private:
  ModelDescription begin_freezing();
  void freeze_added(ModelDescription outer);

  ModelDescription& description_;
  std::size_t scalar_size_;
  std::vector<std::string> models_;  ///< names of those around these layers
  std::string folder_;               ///< within the innermost of them: "" or "block/"
  /// Numbers of the layers so far, by classes.
  std::shared_ptr<LayerNames> numbers_ = std::make_shared<LayerNames>();
  /// Models of all layers so far, that of these layers, and the number of Each around them.
  std::shared_ptr<KerasModels> keras_ = std::make_shared<KerasModels>();
  std::size_t model_ = KerasModels::outermost, eaches_ = 0;
};

template <class L, class In>
auto stated_parameters(L const& layer, In const& in) {
  auto const shapes = parameters_of(layer, in);
  std::array<StatedParameter, std::tuple_size_v<decltype(shapes)>> parameters;
  for (std::size_t i = 0; i != shapes.size(); ++i)
    parameters[i] = {shapes[i], initializer_of(layer, i), regularizer_of(layer, i), is_by_rows(layer)};
  return parameters;
}

/// A composite that, without a name, is no model: its layers are named as if they stood beside it.
template <class L>
inline constexpr bool is_transparent = requires { requires L::transparent; };
/// The same where it is a branch.
template <class L>
inline constexpr bool is_chain = requires { requires L::is_chain; };

/// A composite whose layers are branches.
template <class L>
inline constexpr bool has_branches = requires { requires L::has_branches; };

/// The same where their outputs become one value.
template <class L>
inline constexpr bool joins_branches = requires { requires L::joins_branches; };

template <class Composite, class In>
void describe(Composite const& composite, In const& in, LayerTable& table, bool are_branches = has_branches<Composite>);

/// Adds one layer at `in`, or those within it.
template <class L, class In>
void describe_layer(L const& layer, In const& in, LayerTable& table, bool is_branch) {
  if constexpr (is_frozen<L>) {
    table.freeze([&] { describe(layer, in, table, is_branch); });
  } else if constexpr (requires { L::runs_on_each_part; }) {
    LayerTable each = table.on_each_part();
    describe(layer, in, each);
  } else if constexpr (wraps_layer<L>) {
    describe(layer, in, table);
  } else if constexpr (is_composite<L>) {
    std::string_view const name = name_of(layer);
    if (name.empty() && (is_transparent<L> || (is_chain<L> && is_branch))) return describe(layer, in, table);
    LayerTable below = is_transparent<L> ? table.folder(name) : table.nested(class_name_of<L>(), name);
    describe(layer, in, below);
  } else {
    auto paths = table.next(class_name_of<L>(), name_of(layer));
    table.list(layer, paths);
    table.add(std::move(paths), class_name_of<L>(), layer.output(in).to_vector(), stated_parameters(layer, in),
              states_of(layer, in), layer_flops(layer, in));
    if constexpr (requires { L::mixes_rows; }) table.mixes(L::mixes_rows);
  }
}

/// Adds the layers of a composite at `in`.
template <class Composite, class In>
void describe(Composite const& composite, In const& in, LayerTable& table, bool are_branches) {
  composite.for_each_layer(in, [&]<class L>(L const& layer, auto const& extents) {
    if constexpr (is_shared<L>)
      table.share(layer.shared_weights, [&] { describe_layer(layer, extents, table, are_branches); });
    else
      describe_layer(layer, extents, table, are_branches);
  });
  if constexpr (joins_branches<Composite>) table.add_join();
}

}  // namespace detail

/// Description of a model that begins with an Input, computed in T: layers, weights and their extents. Local.
/// \throws ShapeError if `dynamic` extents are 0 or do not fit a layer; ValueError if a number of a layer is outside of
/// its range.
template <class T, class Architecture>
ModelDescription describe(Architecture const& architecture) {
  auto const in = architecture.input();
  ModelDescription description;
  description.input = in.to_vector();
  description.inputs = list_parts(in);
  for (auto const& extents : description.inputs)
    if (std::ranges::find(extents, std::size_t{0}) != extents.end())
      throw ShapeError(formatted("Input has the extents {}, which hold no number", format_extents(extents)));
  detail::LayerTable table(description, sizeof(T));
  detail::describe(architecture, in, table);
  auto const out = architecture.output(in);
  description.output = out.to_vector();
  description.outputs = list_parts(out);
  detail::ValueTracer tracer(description);
  tracer.results(detail::trace_values(architecture, in, tracer.inputs(), tracer));
  detail::place_as_keras(description, table.keras_models(), tracer.calls(), tracer.result_calls());
  detail::require_own_names(description);
  for (StateInfo& state : description.states) state.offset += description.elements;
  for (FrozenInfo& frozen : description.frozen) frozen.offset += description.reduced_elements();
  return description;
}

}  // namespace trireme

#ifndef TRIREME_COMPILED
#include "trireme/models/description.ipp"
#endif
