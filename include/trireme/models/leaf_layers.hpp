/// Walks over the layers within a layer that have no layers of their own, and over their tensors.
#pragma once

#include <cstddef>

#include "trireme/layers/layer.hpp"
#include "trireme/tensor/arena.hpp"
#include "trireme/tensor/parts.hpp"

namespace trireme::detail {

/// f(leaf layer, its input's extents, how often it runs in a pass) for each within a layer, or for those only that are
/// not frozen.
template <bool with_frozen, class L, class In, class F>
constexpr void for_each_leaf(L const& layer, In const& in, F const& f, std::size_t times = 1) {
  if constexpr (is_frozen<L> && !with_frozen) {
    return;
  } else if constexpr (is_composite<L>) {
    if constexpr (requires { L::runs_on_each_part; }) times *= parts_count<In>;
    layer.for_each_layer(
        in, [&](auto const& inner, auto const& extents) { for_each_leaf<with_frozen>(inner, extents, f, times); });
  } else {
    f(layer, in, times);
  }
}

/// f(offset, size, its description by the layer, how often the layer runs in a pass) for each tensor of an arena that
/// training changes; `of(layer, in)` lists them.
template <class T, class L, class In, class Of, class F>
void for_each_tensor(L const& layer, In const& in, Of const& of, F const& f) {
  std::size_t offset = 0;
  for_each_leaf<false>(layer, in, [&](auto const& leaf, auto const& extents, std::size_t times) {
    for (auto const& tensor : of(leaf, extents)) {
      f(offset, tensor.shape.size(), tensor, times);
      offset += aligned_count<T>(tensor.shape.size());
    }
  });
}

/// Numbers of all parameters, padding not counted.
template <class L, class In>
constexpr std::size_t parameter_count(L const& layer, In const& in) {
  std::size_t count = 0;
  for_each_leaf<true>(layer, in, [&](auto const& leaf, auto const& extents, std::size_t) {
    for (auto const& p : parameters_of(leaf, extents)) count += p.shape.size();
  });
  return count;
}

}  // namespace trireme::detail
