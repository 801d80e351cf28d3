/// An activation as a layer of its own. `Sequential{..., ReLU{}, ...}` wraps activations into this.
#pragma once

#include <cstddef>
#include <string_view>
#include <type_traits>

#include "trireme/activations/linear.hpp"
#include "trireme/core/config.hpp"
#include "trireme/layers/activation_kernels.hpp"
#include "trireme/layers/layer.hpp"
#include "trireme/layers/layer_name.hpp"

namespace trireme {

/// Activation as a layer of its own, y = activation(x): elementwise, or Softmax over each vector along the last axis.
///
/// Input and output have the same extents, (...); no parameters. A `ReLU{}` among the layers of a model becomes
/// `Activation<ReLU>`. Source: Keras `Activation`.
/// \throws ValueError from `compile` if a number of the activation is outside of its range.
template <ActivationFunction A>
struct Activation {
  A activation{};
  LayerName name{};

  void config(Config& c) const { c("activation", activation); }

  static constexpr std::string_view class_name = "Activation";

  template <class In>
  constexpr auto output(In const& in) const {
    return in;
  }

  using final_activation = A;
  constexpr auto without_activation() const { return Activation<Linear>{}; }

  template <class Context, class In, class T>
  void forward(Context& context, In const& in, Forward<T> const& f) const {
    if constexpr (A::elementwise)
      kernels::activate(context, activation, f.rows * in.size(), f.x, f.y);
    else
      context.for_rows("trireme::activate_row", f.rows * in.size() / in.back(), in.back(),
                       kernels::ActivateRow<T, A>{activation, f.x, f.y, in.back()});
  }

  template <class Context, class In, class T>
  void backward(Context& context, In const& in, Backward<T> const& b) const {
    if (b.dx)
      kernels::activation_gradient(context, activation, b.rows * in.size() / in.back(), in.back(), b.x, b.y, b.dy,
                                   b.dx);
  }
};

}  // namespace trireme
