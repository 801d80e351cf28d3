/// Sequential in a program: layer after layer, and back.
#pragma once

#include <cstddef>
#include <type_traits>

#include "trireme/models/sequential.hpp"
#include "trireme/pjrt/lowering/layer.hpp"

namespace trireme::lowering {

template <class... Layers>
struct LayerLowering<Sequential<Layers...>> {
  using Model = Sequential<Layers...>;

  template <class T, class E>
  static auto forward(Trace<T>& trace, Model const& model, Value<T, E> const& x) {
    return from<0>(trace, model, x);
  }

 private:
  template <std::size_t I, class T, class E>
  static auto from(Trace<T>& trace, Model const& model, Value<T, E> const& x) {
    auto const& layer = model.template layer<I>();
    using L = std::remove_cvref_t<decltype(layer)>;
    if constexpr (require_layer_lowering<L>()) {
      auto const here = LayerLowering<L>::forward(trace, layer, x);
      if constexpr (!trireme::detail::is_composite<L>) trace.next_layer(1);
      if constexpr (I + 1 == Model::layer_count) {
        return here;
      } else {
        auto const rest = from<I + 1>(trace, model, here.y);
        return Lowered{rest.y, [=](Trace<T>& t, auto const& dy) { return here.backward(t, rest.backward(t, dy)); }};
      }
    }
  }
};

}  // namespace trireme::lowering
