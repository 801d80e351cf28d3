/// The way of values through a model's layers: which layers take them, and which are its inputs unchanged.
#pragma once

#include <cstddef>
#include <limits>
#include <string_view>
#include <vector>

#include "trireme/layers/layer.hpp"
#include "trireme/models/weight_table.hpp"
#include "trireme/tensor/parts.hpp"

namespace trireme::detail {

inline constexpr std::size_t no_source = std::numeric_limits<std::size_t>::max();

/// Origin of a part of a value.
struct ValueSource {
  std::size_t input = no_source;  ///< the model's input that it is unchanged
  std::size_t node = no_source;   ///< the node whose output it is, or is a part of
};
using ValueSources = std::vector<ValueSource>;

/// Writes a model's nodes and the vocabularies of its inputs into its description, behind the rows of its layers.
class ValueTracer {
 public:
  /// A place in the order of layers and joins.
  struct Place {
    std::size_t step = 0, layer = 0;
  };

  explicit ValueTracer(ModelDescription& model) : model_(model) { model_.vocabularies.assign(model.inputs.size(), 0); }

  ValueSources inputs();

  void look_up(ValueSources const& sources, std::size_t vocabulary);

  /// The next layer takes `taken`; the parts of its output are those of `inputs`.
  ValueSources layer(ValueSources const& taken, std::vector<std::size_t> const& inputs);

  /// Joins of branches that are no layers of their own.
  ValueSources join(std::string_view class_name, std::vector<std::size_t> output, ValueSources const& taken);

  void results(ValueSources const& sources);

  /// Place of the next node. Set back to where it was, the same layers and joins come once more, and take further
  /// values.
  Place next() const { return next_; }
  void set_next(Place place) { next_ = place; }

 private:
  std::size_t add(NodeInfo node);
  ValueSources step(NodeInfo info, ValueSources const& taken, std::vector<std::size_t> const& inputs);

  ModelDescription& model_;
  std::vector<std::size_t> node_of_step_;
  Place next_{};
};

/// Sources of the parts of a layer's output, if those of its input are `sources`. Composites implement it for their
/// layers, in the order of `for_each_layer`, in `trace_values(in, sources, tracer)`; a layer that hands parts of its
/// input on says which in `selected(parts)`.
template <class L, class In>
ValueSources trace_values(L const& layer, In const& in, ValueSources const& sources, ValueTracer& tracer) {
  if constexpr (is_composite<L>) {
    return layer.trace_values(in, sources, tracer);
  } else {
    if constexpr (requires { L::looks_up; }) tracer.look_up(sources, layer.vocabulary);
    if constexpr (requires { L::selected(sources); }) {
      ValueSources const taken = L::selected(sources);
      std::vector<std::size_t> inputs;
      for (ValueSource const& source : taken) inputs.push_back(source.input);
      return tracer.layer(taken, inputs);
    } else {
      std::vector<std::size_t> inputs(parts_count<decltype(output_of(layer, in))>, no_source);
      if constexpr (reinterprets<L>)
        for (std::size_t i = 0; i < inputs.size(); ++i) inputs[i] = sources[i].input;
      return tracer.layer(sources, inputs);
    }
  }
}

}  // namespace trireme::detail

#ifndef TRIREME_COMPILED
#include "trireme/models/value_sources.ipp"
#endif
