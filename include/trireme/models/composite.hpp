/// Members that layers made of layers share.
#pragma once

#include <cstddef>

#include "trireme/layers/layer.hpp"
#include "trireme/layers/pass.hpp"

namespace trireme::detail {

/// Advances past a layer at `in`: past its parameters, states and random numbers.
template <class L, class In, class T>
void pass_by(L const& layer, In const& in, ForwardPass<T>& call) {
  call.parameters += parameter_elements<T>(layer, in);
  if (call.states) call.states += state_elements<T>(layer, in);
  if (call.state_updates) call.state_updates += state_elements<T>(layer, in);
  if (call.frozen_weights) call.frozen_weights += frozen_elements<T>(layer, in);
  call.keys.layer += leaf_layers<L>();
}
template <class L, class In, class T>
void pass_by(L const& layer, In const& in, BackwardPass<T>& call) {
  std::size_t const elements = parameter_elements<T>(layer, in);
  call.parameters += elements;
  if (!call.frozen) call.gradients += elements;
  if (call.states) call.states += state_elements<T>(layer, in);
  if (call.frozen_weights) call.frozen_weights += frozen_elements<T>(layer, in);
  call.keys.layer += leaf_layers<L>();
}
/// Goes back before a layer at `in`.
template <class L, class In, class T>
void pass_back(L const& layer, In const& in, BackwardPass<T>& call) {
  std::size_t const elements = parameter_elements<T>(layer, in);
  call.parameters -= elements;
  if (!call.frozen) call.gradients -= elements;
  if (call.states) call.states -= state_elements<T>(layer, in);
  if (call.frozen_weights) call.frozen_weights -= frozen_elements<T>(layer, in);
  call.keys.layer -= leaf_layers<L>();
}

/// Base of a composite: its elements are those of its layers, which `for_each_layer(in, f)` visits.
template <class Composite>
class SumsOfLayers {
 public:
  template <class T, class In>
  constexpr std::size_t parameter_elements(In const& in) const {
    return sum(in,
               [](auto const& layer, auto const& extents) { return detail::parameter_elements<T>(layer, extents); });
  }
  template <class T, class In>
  constexpr std::size_t state_elements(In const& in) const {
    return sum(in, [](auto const& layer, auto const& extents) { return detail::state_elements<T>(layer, extents); });
  }
  template <class T, class In>
  constexpr std::size_t frozen_elements(In const& in) const {
    return sum(in, [](auto const& layer, auto const& extents) { return detail::frozen_elements<T>(layer, extents); });
  }

 private:
  template <class In, class F>
  constexpr std::size_t sum(In const& in, F const& f) const {
    std::size_t elements = 0;
    static_cast<Composite const&>(*this).for_each_layer(
        in, [&](auto const& layer, auto const& extents) { elements += f(layer, extents); });
    return elements;
  }
};

}  // namespace trireme::detail
