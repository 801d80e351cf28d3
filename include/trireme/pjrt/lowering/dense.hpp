/// Dense in a program.
#pragma once

#include <cstddef>

#include "trireme/layers/dense.hpp"
#include "trireme/pjrt/lowering/activations.hpp"
#include "trireme/pjrt/lowering/layer.hpp"

namespace trireme::lowering {

template <std::size_t Units, class... Options>
struct LayerLowering<Dense<Units, Options...>> {
  using Layer = Dense<Units, Options...>;
  using A = typename Layer::A;

  template <class T, class E>
  static auto forward(Trace<T>& trace, Layer const& layer, Value<T, E> const& x) {
    static_assert(require_activation_lowering<A>());
    Builder& b = trace.builder();
    constexpr std::size_t inputs = static_extent<E, E::rank - 1>;
    auto const kernel = trace.parameter(Extents<inputs, Units>{{x.extents.back(), layer.units}}, {1, 0});
    constexpr std::size_t last = E::rank - 1;
    auto const from = trace.aligned(x, kernel, {{0, last}});
    auto z = trace.aligned(b.product(from, kernel.value), kernel, {{1, last}});
    Parameter<T, Extents<Units>> bias{};
    if constexpr (Layer::use_bias) {
      bias = trace.parameter(Extents<Units>{{layer.units}}, 0);
      z = b.add(z, b.along_back(bias.value, z.extents));
    }
    auto const y = ActivationLowering<A>::forward(b, layer.activation, z);
    return Lowered{y, [=](Trace<T>& t, decltype(y) const& dy) {
                     Builder& back = t.builder();
                     auto const dz = ActivationLowering<A>::backward(back, layer.activation, z, y, dy);
                     t.set_gradient(kernel, back.product_over_rows(from, dz));
                     if constexpr (Layer::use_bias) t.set_gradient(bias, back.sum_to_back(dz));
                     return t.aligned(back.product_transposed(dz, kernel.value), kernel, {{0, last}});
                   }};
  }
};

}  // namespace trireme::lowering
