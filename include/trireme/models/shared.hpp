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
/// handle or a copy of it. What `fit` (after each epoch and at its end), `train_on_batch`, `set_weights`,
/// `load_weights` and `copy_weights` do to them in one model is then in all of them; each model has an optimizer state
/// of its own. The handle keeps a copy of the weights on the host of each process. Models that share layers have to be
/// compiled, and to end, in the same order on the same processes.
///
/// Compile-time errors: an Input.
/// \throws ShapeError from `compile`, on all processes, if the weights have other extents than in the model that was
/// compiled first.
/// \throws ValueError from `compile`, on all processes, if the handle stands twice in one model, or the strategy cannot
/// read and set weights.
/// \throws ValueError from members that change weights, on all processes, if the numbers of models that share the layer
/// differ between processes.
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
