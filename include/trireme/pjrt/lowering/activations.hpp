/// Activations in a program: elementwise ones by their own formulas, and Softmax.
#pragma once

#include "trireme/activations/activation.hpp"
#include "trireme/activations/softmax.hpp"
#include "trireme/layers/activation.hpp"
#include "trireme/pjrt/lowering/layer.hpp"
#include "trireme/pjrt/lowering/traced.hpp"

namespace trireme::lowering {

/// Each element by the activation's own formula.
template <class A>
  requires(ActivationFunction<A> && A::elementwise)
struct ActivationLowering<A> {
  template <class T, class E>
  static Value<T, E> forward(Builder& b, A const& activation, Value<T, E> const& z) {
    return activation(Traced<T, E>(b, z)).in(b, z.extents);
  }
  template <class T, class E>
  static Value<T, E> backward(Builder& b, A const& activation, Value<T, E> const& z, Value<T, E> const& y,
                              Value<T, E> const& dy) {
    auto const slope = activation.derivative(Traced<T, E>(b, A::derivative_from_output ? y : z));
    return (Traced<T, E>(b, dy) * slope).in(b, dy.extents);
  }
};

template <>
struct ActivationLowering<Softmax> {
  template <class T, class E>
  static Value<T, E> forward(Builder& b, Softmax const&, Value<T, E> const& z) {
    auto const e = b.unary<"exponential">(b.subtract(z, b.repeat_back(b.max_back(z), z.extents)));
    return b.divide(e, b.repeat_back(b.sum_back(e), z.extents));
  }
  template <class T, class E>
  static Value<T, E> backward(Builder& b, Softmax const&, Value<T, E> const&, Value<T, E> const& y,
                              Value<T, E> const& dy) {
    auto const dot = b.sum_back(b.multiply(y, dy));
    return b.multiply(y, b.subtract(dy, b.repeat_back(dot, y.extents)));
  }
};

/// An activation as a layer of its own.
template <class A>
struct LayerLowering<Activation<A>> {
  template <class T, class E>
  static auto forward(Trace<T>& trace, Activation<A> const& layer, Value<T, E> const& x) {
    static_assert(require_activation_lowering<A>());
    auto const y = ActivationLowering<A>::forward(trace.builder(), layer.activation, x);
    return Lowered{y, [=](Trace<T>& t, Value<T, E> const& dy) {
                     return ActivationLowering<A>::backward(t.builder(), layer.activation, x, y, dy);
                   }};
  }
};

}  // namespace trireme::lowering
