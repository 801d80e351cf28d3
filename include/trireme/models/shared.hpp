/// Shared: a handle to layers that several models have in common.
#pragma once

#include <memory>

#include "trireme/layers/input.hpp"
#include "trireme/layers/layer.hpp"
#include "trireme/models/shared_weights.hpp"

namespace trireme {

/// Handle to a layer that several models have in common: `Shared encoder{Sequential{Dense<32, ReLU>{}, Dense<8>{}}};`
/// stands in as many models as one likes, as a layer, also within Frozen:
/// `compile(strategy, Sequential{Input<64>{}, encoder, Dense<64>{}}, ...)`.
///
/// Input, output and weights are those of the layer. Its weights begin as the first model's that is compiled with the
/// handle or a copy of it. What `fit`, `train_on_batch`, `set_weights`, `load_weights`, `copy_weights`, a restored
/// snapshot and a resumed run do to them in one model is then in all of them, Frozen there or not; each model has an
/// optimizer state of its own. `fit` copies them after each epoch and at its end, and before that, such as in a hook of
/// a batch or after an error that ended it, when another model is compiled, trains, evaluates, predicts, or saves, sets
/// or loads weights; its `weights` and `predictor` read them where they are. `infer` and `weights_view` alone have
/// those of before, until `publish_shared` of the model that trains. The handle keeps a copy of the weights on the host
/// of each process. Models that share layers have to be compiled, and to end, in the same order on the same processes,
/// and are used by one thread at a time, as one model is; steps that were not copied end with their model.
///
/// Compile-time errors: an Input.
/// \throws ShapeError from `compile`, on all processes, if the weights have other extents than in the model that was
/// compiled first.
/// \throws ValueError from `compile`, on all processes, if the handle stands twice in one model, or the strategy cannot
/// read and set weights.
/// \throws ValueError from members that change weights, on all processes, if the numbers of models that share the layer
/// differ between processes; and from members and functions that need weights which a model on another number of
/// processes has trained since they were copied.
template <class L>
struct Shared : L {
  static_assert(!detail::is_input<L>, "trireme: Shared goes around a layer or a Sequential, not around an Input");

  Shared() = default;
  /// Handle to a layer, whose copies share the weights.
  explicit Shared(L const& layer) : L(layer) {}

  std::shared_ptr<detail::SharedWeights> shared_weights = std::make_shared<detail::SharedWeights>();
};

template <class L>
Shared(L const&) -> Shared<L>;

}  // namespace trireme
