/// ModelLowering: the lowering of a model of a user's own, which a program takes as the one layer of a graph.
#pragma once

#include "trireme/pjrt/lowering/layer.hpp"
#include "trireme/tensor/extents.hpp"

namespace trireme::lowering {

/// Lowering of a model that is not made of layers. A specialization has, as LayerLowering,
///   forward(trace, model, x)  returning Lowered{y, backward}; x is (rows, inputs), and y has to be (rows, outputs)
/// The model's parameters are vectors, in the order of its table. It has to have `initialize`.
template <class Model>
struct ModelLowering {
  static constexpr bool missing = true;
};

template <class Model>
concept LowersItself = exists<ModelLowering<Model>>;

/// A model of a user's own as a layer.
template <LowersItself Model>
struct OwnLayer {
  Model const& model;

  Extents<dynamic> input() const { return {{model.input_size()}}; }
  template <class In>
  Extents<dynamic> output(In const&) const {
    return {{model.output_size()}};
  }
};

template <class Model>
struct LayerLowering<OwnLayer<Model>> {
  template <class T, class X>
  static auto forward(Trace<T>& trace, OwnLayer<Model> const& layer, X const& x) {
    return ModelLowering<Model>::forward(trace, layer.model, x);
  }
};

/// The layers of a model: of one that rounds what they compute too, and of a user's own.
template <class Model>
decltype(auto) layers_of(Model const& model) {
  if constexpr (LowersItself<Model>)
    return OwnLayer<Model>{model};
  else if constexpr (requires { model.exact_architecture(); })
    return model.exact_architecture();
  else
    return model.architecture();
}

/// An error message for a model without layers that programs can be made of.
template <class Model>
consteval bool require_model_lowering() {
  constexpr bool has_layers = LowersItself<Model> || requires(Model const& model) { model.architecture(); } ||
                              requires(Model const& model) { model.exact_architecture(); };
  constexpr bool in_own_memory = requires(Model const& model) { model.parameter_view(); };
  static_assert(has_layers,
                "trireme: a PJRT device takes a model that is made of layers, or one of your own that has a "
                "ModelLowering");
  static_assert(!in_own_memory,
                "trireme: a PJRT device keeps parameters in its own memory: a model of your own gives their first "
                "values by initialize(arena), not by parameter_view()");
  return has_layers && !in_own_memory;
}

}  // namespace trireme::lowering
