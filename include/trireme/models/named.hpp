/// named: a layer or a nested model with a name of the user's.
#pragma once

#include <string_view>

#include "trireme/core/fixed_string.hpp"
#include "trireme/core/name.hpp"
#include "trireme/layers/layer.hpp"

namespace trireme {

namespace detail {

/// Names a layer, or the one that it goes around: always, or only if it has no name yet.
template <bool replaces, class L>
constexpr void set_name(L& layer, std::string_view name) {
  if constexpr (wraps_layer<L>)
    set_name<replaces>(layer.layer, name);
  else if constexpr (has_name<L>)
    if (replaces || layer.name.empty()) layer.name = name;
}

template <class L>
constexpr bool takes_name() {
  if constexpr (wraps_layer<L>)
    return takes_name<decltype(L::layer)>();
  else
    return has_name<L>;
}

}  // namespace detail

/// Copy of a layer with a name: `named<"encoder">(Sequential{Dense<32, ReLU>{}, Dense<8>{}})`, whose weights are then
/// `encoder/dense/kernel` and so on. The name of Frozen and Each is that of the layer that they go around. The
/// outermost model's name is part of no path, as in Keras's files of weights and in the `path` of a functional model's
/// variables; Keras's Sequential puts its name in front of that. Source: Keras `Sequential(name=...)`.
///
/// Compile-time errors: a layer without a member `name`.
template <FixedString Name, class L>
constexpr L named(L layer) {
  static_assert(detail::takes_name<L>(),
                "trireme: named<\"name\">(layer) takes a layer that has a member 'trireme::LayerName name'");
  detail::set_name<true>(layer, decltype(detail::name_of<Name>())::name.view());
  return layer;
}

}  // namespace trireme
