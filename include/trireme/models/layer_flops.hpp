/// Floating-point operations of layers, estimated: a constant expression where extents are static.
#pragma once

#include <cstddef>

#include "trireme/layers/layer.hpp"

namespace trireme {

namespace detail {

/// Operations of forward, for one sample: the layer's member `flops(in)`, if it has one. Otherwise each of its
/// parameters counts as multiplied and added once at each position of its input, and each number of its output as one
/// operation.
template <class L, class In>
constexpr std::size_t layer_flops(L const& layer, In const& in) {
  if constexpr (requires { layer.flops(in); }) {
    return layer.flops(in);
  } else if constexpr (is_composite<L>) {
    std::size_t sum = 0;
    layer.for_each_layer(in, [&](auto const& inner, auto const& extents) { sum += layer_flops(inner, extents); });
    return sum;
  } else {
    std::size_t parameters = 0, positions = 1;
    for (auto const& parameter : parameters_of(layer, in)) parameters += parameter.shape.size();
    if constexpr (In::rank > 0) positions = in.size() / in.back();
    return 2 * parameters * positions + (reinterprets<L> ? 0 : layer.output(in).size());
  }
}

}  // namespace detail

}  // namespace trireme
