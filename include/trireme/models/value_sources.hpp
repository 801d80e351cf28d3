/// The way of values through a model's layers: which layers take them, and which are its inputs unchanged.
#pragma once

#include <cstddef>
#include <limits>
#include <string_view>
#include <utility>
#include <vector>

#include "trireme/layers/layer.hpp"
#include "trireme/models/joins.hpp"
#include "trireme/models/keras_order.hpp"
#include "trireme/models/weight_table.hpp"
#include "trireme/models/wiring.hpp"
#include "trireme/tensor/parts.hpp"

namespace trireme::detail {

inline constexpr std::size_t no_source = std::numeric_limits<std::size_t>::max();

/// Origin of a part of a value.
struct ValueSource {
  std::size_t input = no_source;  ///< the model's input that it is unchanged
  std::size_t node = no_source;   ///< the node whose output it is, or is a part of
  std::size_t call = no_source;   ///< the same call of a step, of which Keras has a layer
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

  /// The next layer takes `taken` and makes `outputs` values, or hands `taken` on `unchanged`; `in_keras` if that has
  /// such a layer.
  ValueSources layer(ValueSources const& taken, std::size_t outputs, bool unchanged, bool in_keras);

  /// Joins of branches that are no layers of their own.
  ValueSources join(std::string_view class_name, std::vector<std::size_t> output, ValueSources const& taken);

  void results(ValueSources const& sources);
  /// The steps from `begin` to `end` were a run of those of a model within, whose outputs these are.
  void results_within(std::size_t begin, std::size_t end, ValueSources const& sources);

  /// Place of the next node.
  Place next() const { return next_; }
  /// The layers and joins from `first` on come for this part of a tuple, once more for all parts but the first.
  void begin_part(Place first, std::size_t part) {
    next_ = first;
    parts_.push_back(part);
  }
  void end_part() { parts_.pop_back(); }

  std::vector<StepCall> const& calls() const { return calls_; }
  /// The calls that results come from, those of the model and of models within.
  std::vector<StepResults> const& result_calls() const { return result_calls_; }

 private:
  std::size_t add(NodeInfo node);
  /// The next node, which takes `taken`: the origin of what it makes.
  ValueSource step(NodeInfo info, ValueSources const& taken);

  ModelDescription& model_;
  std::vector<std::size_t> node_of_step_;
  Place next_{};
  std::vector<std::size_t> parts_;
  std::vector<StepCall> calls_;
  std::vector<StepResults> result_calls_;
};

/// Builder of a wiring at run time, in which layers that only rename or select values are nodes too.
class LayerWires {
 public:
  /// A graph within: its nodes from `begin` to `end`, and the values of its output.
  struct Part {
    std::size_t begin, end;
    Values results;
  };

  explicit LayerWires(std::size_t sources) : values_(sources) {}

  template <class Out>
  Values add(Values const& inputs, NodeKind) {
    return record(inputs, parts_count<Out>);
  }
  Values hand_on(Values const& inputs) { return record(inputs, inputs.size()); }

  std::size_t nodes() const { return inputs_.size(); }
  void end_graph(std::size_t begin, Values const& results) { graphs_.push_back({begin, nodes(), results}); }

  /// The values that a node takes.
  Values const& inputs(std::size_t node) const { return inputs_[node]; }
  std::vector<Part> const& graphs() const { return graphs_; }

 private:
  Values record(Values const& inputs, std::size_t outputs);

  std::size_t values_;
  std::vector<Values> inputs_;
  std::vector<Part> graphs_;
};

/// False for Select, and for a Skip without a name: a functional model of Keras takes the value itself.
template <class L>
bool is_in_keras(L const& layer) {
  return !Selects<L> && (class_name_of<L>() != "Identity" || !name_of(layer).empty());
}

template <class L, class In>
ValueSources trace_node(L const& layer, In const& in, ValueSources const& taken, ValueTracer& tracer);

/// Sources of the parts of a layer's output, if those of its input are `values`: through all layers within it, in the
/// order of its wiring.
template <class L, class In>
ValueSources trace_values(L const& layer, In const& in, ValueSources values, ValueTracer& tracer) {
  LayerWires wires(values.size());
  Values const results = wire<UnfusedContext, L, In>(Values::range(0, values.size()), wires);
  auto const sources_of = [&](Values const& numbers) {
    ValueSources sources;
    for (std::size_t const number : numbers) sources.push_back(values[number]);
    return sources;
  };
  std::size_t node = 0;
  std::vector<std::size_t> steps;  // that nodes begin with
  auto const trace = [&](auto const& one, auto const& own) {
    steps.push_back(tracer.next().step);
    for (ValueSource const& made : trace_node(one, own, sources_of(wires.inputs(node++)), tracer))
      values.push_back(made);
  };
  visit<UnfusedContext>(layer, in, trace);
  steps.push_back(tracer.next().step);
  for (auto const& graph : wires.graphs())
    tracer.results_within(steps[graph.begin], steps[graph.end], sources_of(graph.results));
  return sources_of(results);
}

/// The same of a node, which takes `taken`. A layer that runs another several times says so in
/// `trace_values(in, taken, tracer)`.
template <class L, class In>
ValueSources trace_node(L const& layer, In const& in, ValueSources const& taken, ValueTracer& tracer) {
  if constexpr (is_join_node<L>) {
    return tracer.join(L::class_name, layer.output(in).to_vector(), taken);
  } else if constexpr (requires { layer.trace_values(in, taken, tracer); }) {
    return layer.trace_values(in, taken, tracer);
  } else if constexpr (is_frozen<L>) {
    return trace_values(layer.layer, in, taken, tracer);
  } else if constexpr (is_composite<L>) {
    return trace_values(static_cast<typename L::graph_of const&>(layer), in, taken, tracer);
  } else {
    if constexpr (requires { L::looks_up; }) tracer.look_up(taken, layer.vocabulary);
    return tracer.layer(taken, parts_count<decltype(output_of(layer, in))>, !computes<L, In>, is_in_keras(layer));
  }
}

}  // namespace trireme::detail

#ifndef TRIREME_COMPILED
#include "trireme/models/value_sources.ipp"
#endif
