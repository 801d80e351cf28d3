/// The inputs of a model that reach a layer unchanged.
#pragma once

#include <cstddef>
#include <limits>
#include <vector>

#include "trireme/layers/layer.hpp"
#include "trireme/tensor/parts.hpp"

namespace trireme::detail {

/// For each part of a value: the number of the model's input that it is, or that it is none of them.
using InputSources = std::vector<std::size_t>;
inline constexpr std::size_t no_input = std::numeric_limits<std::size_t>::max();

/// Sources of the parts of a layer's output, if those of its input are `sources`. Calls f(layer, its own sources) for
/// each layer that looks indices up. Composites implement it in `trace_inputs(in, sources, f)`.
template <class L, class In, class F>
InputSources trace_inputs(L const& layer, In const& in, InputSources const& sources, F const& f) {
  if constexpr (requires { layer.trace_inputs(in, sources, f); }) {
    return layer.trace_inputs(in, sources, f);
  } else {
    if constexpr (requires { L::looks_up; }) f(layer, sources);
    if constexpr (reinterprets<L>)
      return sources;
    else
      return InputSources(parts_count<decltype(output_of(layer, in))>, no_input);
  }
}

}  // namespace trireme::detail
