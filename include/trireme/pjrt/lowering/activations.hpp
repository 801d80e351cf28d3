/// Activations in a program: Linear, ReLU, Tanh, Sigmoid, Softmax.
#pragma once

#include "trireme/activations/linear.hpp"
#include "trireme/activations/relu.hpp"
#include "trireme/activations/sigmoid.hpp"
#include "trireme/activations/softmax.hpp"
#include "trireme/activations/tanh.hpp"
#include "trireme/layers/activation.hpp"
#include "trireme/pjrt/lowering/layer.hpp"

namespace trireme::lowering {

template <>
struct ActivationLowering<Linear> {
  template <class V>
  static V forward(Builder&, Linear const&, V const& z) {
    return z;
  }
  template <class V>
  static V backward(Builder&, Linear const&, V const&, V const&, V const& dy) {
    return dy;
  }
};

template <>
struct ActivationLowering<ReLU> {
  template <class T, class E>
  static Value<T, E> forward(Builder& b, ReLU const&, Value<T, E> const& z) {
    return b.binary<"maximum">(z, b.constant_like<T>(T{0}, z));
  }
  template <class T, class E>
  static Value<T, E> backward(Builder& b, ReLU const&, Value<T, E> const&, Value<T, E> const& y,
                              Value<T, E> const& dy) {
    auto const zero = b.constant_like<T>(T{0}, y);
    return b.select(b.compare<"GT">(y, zero), dy, zero);
  }
};

template <>
struct ActivationLowering<Tanh> {
  template <class T, class E>
  static Value<T, E> forward(Builder& b, Tanh const&, Value<T, E> const& z) {
    return b.unary<"tanh">(z);
  }
  template <class T, class E>
  static Value<T, E> backward(Builder& b, Tanh const&, Value<T, E> const&, Value<T, E> const& y,
                              Value<T, E> const& dy) {
    return b.multiply(dy, b.subtract(b.constant_like<T>(T{1}, y), b.multiply(y, y)));
  }
};

template <>
struct ActivationLowering<Sigmoid> {
  template <class T, class E>
  static Value<T, E> forward(Builder& b, Sigmoid const&, Value<T, E> const& z) {
    return b.unary<"logistic">(z);
  }
  template <class T, class E>
  static Value<T, E> backward(Builder& b, Sigmoid const&, Value<T, E> const&, Value<T, E> const& y,
                              Value<T, E> const& dy) {
    return b.multiply(dy, b.multiply(y, b.subtract(b.constant_like<T>(T{1}, y), y)));
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
