/// Definitions of trireme/models/value_sources.hpp.
#pragma once

#include "trireme/models/value_sources.hpp"

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "trireme/core/linkage.hpp"
#include "trireme/layers/layer.hpp"
#include "trireme/models/weight_table.hpp"
#include "trireme/tensor/parts.hpp"

namespace trireme::detail {

TRIREME_INLINE ValueSources ValueTracer::inputs() {
  ValueSources sources;
  for (std::size_t i = 0; i < model_.inputs.size(); ++i)
    sources.push_back({i, add({NodeInfo::Kind::input, i, "Input", model_.inputs[i], {}})});
  return sources;
}

TRIREME_INLINE void ValueTracer::look_up(ValueSources const& sources, std::size_t vocabulary) {
  for (ValueSource const& source : sources) {
    if (source.input == no_source) continue;
    std::size_t& smallest = model_.vocabularies[source.input];
    if (smallest == 0 || vocabulary < smallest) smallest = vocabulary;
  }
}

TRIREME_INLINE ValueSources ValueTracer::layer(ValueSources const& taken, std::size_t outputs, bool unchanged,
                                               bool in_keras) {
  std::size_t const index = next_.layer++;
  LayerInfo const& info = model_.layers[index];
  ValueSources made(outputs, step({NodeInfo::Kind::layer, index, info.class_name, info.output, {}}, taken));
  for (std::size_t i = 0; i < outputs; ++i) {
    if (unchanged) made[i].input = taken[i].input;
    if (!in_keras) made[i].call = taken[i].call;
  }
  return made;
}

TRIREME_INLINE ValueSources ValueTracer::join(std::string_view class_name, std::vector<std::size_t> output,
                                              ValueSources const& taken) {
  return {step({NodeInfo::Kind::join, 0, std::string(class_name), std::move(output), {}}, taken)};
}

TRIREME_INLINE void ValueTracer::results(ValueSources const& sources) {
  for (ValueSource const& source : sources) model_.results.push_back(source.node);
  results_within(0, next_.step, sources);
}

TRIREME_INLINE void ValueTracer::results_within(std::size_t begin, std::size_t end, ValueSources const& sources) {
  StepResults results{begin, end, {}};
  for (ValueSource const& source : sources)
    if (source.call != no_source) results.calls.push_back(source.call);
  result_calls_.push_back(std::move(results));
}

TRIREME_INLINE std::size_t ValueTracer::add(NodeInfo node) {
  model_.nodes.push_back(std::move(node));
  return model_.nodes.size() - 1;
}

TRIREME_INLINE ValueSource ValueTracer::step(NodeInfo info, ValueSources const& taken) {
  if (next_.step == node_of_step_.size()) node_of_step_.push_back(add(std::move(info)));
  std::size_t const node = node_of_step_[next_.step];
  auto& from = model_.nodes[node].from;
  StepCall call{next_.step++, parts_, {}};
  for (ValueSource const& source : taken) {
    if (std::ranges::find(from, source.node) == from.end()) from.push_back(source.node);
    if (source.call != no_source) call.from.push_back(source.call);
  }
  calls_.push_back(std::move(call));
  return {no_source, node, calls_.size() - 1};
}

TRIREME_INLINE Values LayerWires::record(Values const& inputs, std::size_t outputs) {
  inputs_.push_back(inputs);
  values_ += outputs;
  return Values::range(values_ - outputs, outputs);
}

}  // namespace trireme::detail
