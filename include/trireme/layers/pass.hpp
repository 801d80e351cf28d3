/// Passes through layers: addresses of the arenas from a layer on, and the call of that layer with its own tensors.
#pragma once

#include <cstddef>
#include <type_traits>

#include "trireme/backend/gemm/rows_view.hpp"
#include "trireme/layers/call.hpp"
#include "trireme/layers/layer.hpp"
#include "trireme/tensor/arena.hpp"

namespace trireme {

/// Forward through a layer, or through all layers of a composite, from x (rows, input extents) to y (rows, output
/// extents): parameters, states and frozen weights are those of the arenas from its first layer on. `workspace` has
/// workspace_bytes, and survives until backward.
template <class T>
struct ForwardPass {
  std::size_t rows;
  RowsView<T> x;
  T* y;
  T const* parameters;
  std::byte* workspace;
  StepKeys keys;
  bool training;
  T const* states = nullptr;
  T* state_updates = nullptr;         ///< while training: this slice's part of the batch's mean
  T const* frozen_weights = nullptr;  ///< of the layers within it that are Frozen
  bool frozen = false;                ///< true if the layer itself is Frozen
};

/// Backward through the same layers, from dy (rows, output extents) to dx (rows, input extents), which may be null.
/// `gradients` are overwritten, not added to, and null where the layer is `frozen`.
template <class T>
struct BackwardPass {
  std::size_t rows;
  RowsView<T> x;
  T const* y;
  T* dy;
  T* dx;
  T const* parameters;
  T* gradients;
  std::byte* workspace;
  StepKeys keys;
  GradientSink<T>* sink = nullptr;  ///< null: gradients are stored
  T const* states = nullptr;
  T const* frozen_weights = nullptr;
  bool frozen = false;
};

namespace detail {

/// The addresses of tensors that lie one after the other from `base` on; none where that is null.
template <class T, class Shapes>
LayerTensors<T*> layer_tensors(Shapes const& shapes, T* base) {
  static_assert(std::tuple_size_v<Shapes> <= most_layer_tensors,
                "trireme: a layer has at most 16 parameters, 16 states and 16 saved tensors");
  LayerTensors<T*> tensors;
  if (!base) return tensors;
  for (auto const& tensor : shapes) {
    tensors.add(base);
    base += aligned_count<std::remove_const_t<T>>(tensor.shape.size());
  }
  return tensors;
}

template <class T, class Context, class L, class In>
LayerTensors<T*> saved_tensors(L const& layer, In const& in, std::size_t rows, std::byte* memory) {
  auto const declared = saved_of<T, Context>(layer, in, rows);
  static_assert(std::tuple_size_v<std::remove_const_t<decltype(declared)>> <= most_layer_tensors,
                "trireme: a layer has at most 16 parameters, 16 states and 16 saved tensors");
  LayerTensors<T*> tensors;
  for (SavedTensor const& tensor : declared) {
    tensors.add(reinterpret_cast<T*>(memory));
    memory += aligned_bytes(tensor.template bytes<T>());
  }
  return tensors;
}

template <class T, class Shapes>
LayerTensors<Gradient<T>> layer_gradients(Shapes const& shapes, T* base, GradientSink<T>* sink) {
  LayerTensors<Gradient<T>> gradients;
  if (!base) return gradients;
  for (auto const& parameter : shapes) {
    std::size_t const size = parameter.shape.size();
    gradients.add({base, size, sink});
    base += aligned_count<T>(size);
  }
  return gradients;
}

/// Sentences in place of the errors of calls that do not fit. The text is literal, since compilers show it as it
/// stands.
template <class L, class Context, class In, class T>
consteval bool require_forward() {
  constexpr bool fits =
      requires(L const& layer, Context& context, In const& in, Forward<T> const& f) { layer.forward(context, in, f); };
  static_assert(
      fits,
      "trireme: a layer needs forward(context, in, f) const, a template that takes any context, the extents of "
      "its input and a trireme::Forward<T>");
  return fits;
}
template <class L, class Context, class In, class T>
consteval bool require_backward() {
  constexpr bool fits = requires(L const& layer, Context& context, In const& in, Backward<T> const& b) {
    layer.backward(context, in, b);
  };
  static_assert(fits,
                "trireme: a layer needs backward(context, in, b) const, a template that takes any context, the extents "
                "of its input and a trireme::Backward<T>");
  return fits;
}

/// Calls a layer's forward with its own tensors; a composite's with the pass.
template <class Context, class L, class In, class T>
void run_forward(Context& context, L const& layer, In const& in, ForwardPass<T> const& pass) {
  if constexpr (is_composite<L>) {
    layer.forward(context, in, pass);
  } else if constexpr (require_forward<L, Context, In, T>()) {
    auto const states = states_of(layer, in);
    layer.forward(context, in,
                  Forward<T>{.rows = pass.rows,
                             .x = pass.x.block(),
                             .y = pass.y,
                             .parameters = layer_tensors(parameters_of(layer, in), pass.parameters),
                             .saved = saved_tensors<T, Context>(layer, in, pass.rows, pass.workspace),
                             .keys = pass.keys,
                             .training = pass.training,
                             .frozen = pass.frozen,
                             .states = layer_tensors(states, pass.states),
                             .state_updates = layer_tensors(states, pass.state_updates),
                             .scattered = pass.x});
  }
}

template <class Context, class L, class In, class T>
void run_backward(Context& context, L const& layer, In const& in, BackwardPass<T> const& pass) {
  if constexpr (is_composite<L>) {
    layer.backward(context, in, pass);
  } else if constexpr (require_backward<L, Context, In, T>()) {
    auto const parameters = parameters_of(layer, in);
    layer.backward(
        context, in,
        Backward<T>{.rows = pass.rows,
                    .x = pass.x.block(),
                    .y = pass.y,
                    .dy = pass.dy,
                    .dx = pass.dx,
                    .parameters = layer_tensors(parameters, pass.parameters),
                    .gradients = layer_gradients(parameters, pass.frozen ? nullptr : pass.gradients, pass.sink),
                    .saved = saved_tensors<T, Context>(layer, in, pass.rows, pass.workspace),
                    .keys = pass.keys,
                    .frozen = pass.frozen,
                    .states = layer_tensors(states_of(layer, in), pass.states),
                    .scattered = pass.x});
  }
}

}  // namespace detail
}  // namespace trireme
