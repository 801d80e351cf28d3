/// The Loss and Metric concepts, and a sentence for each type that does not fit.
#pragma once

#include <concepts>
#include <cstddef>

#include "trireme/losses/targets.hpp"
#include "trireme/metrics/direction.hpp"

namespace trireme {

/// A metric: mergeable sums over positions, with `name`, `direction`, `state_size`, `update` and `result`.
///
/// `update(prediction, target, size, weight, state)` adds one position to the state (state_size), doubles that begin at
/// 0: prediction (size) is the last axis of the model's output (rows, …, size); target is (size), or one class index.
/// `result(state)` is the value in the logs. States of batches, replicas and processes are added. A type without these
/// members does not compile: "a metric needs name, direction, state_size, …".
template <class M>
concept Metric = requires(M const metric, double* state) {
  { M::state_size } -> std::convertible_to<std::size_t>;
  M::name.view();
  M::direction;
  metric.result(state);
};

/// A loss: a functor over one position, with `name` and the type of its `target`, DenseTarget or ClassIndex.
///
/// `operator()(prediction, target, size, scale, gradient)` returns the loss of a position and, unless `gradient` is
/// null, writes scale * (derivative by the prediction) to it: prediction and gradient (size), target (size) or one
/// class index. The loss of a model is the sum over the positions (rows, …), each times its sample's weight, over their
/// number in the global batch; positions with `counts(target)` false leave that number. A type without these members
/// does not compile: "a loss needs `using target = DenseTarget` or ClassIndex, …".
template <class L>
concept Loss = requires {
  typename L::target;
  L::name.view();
};

namespace detail {

template <class L, class Out>
consteval bool require_loss() {
  static_assert(Loss<L>,
                "trireme: a loss needs `using target = DenseTarget` or ClassIndex, a name, and "
                "operator()(prediction, target, size, scale, gradient)");
  if constexpr (requires { L::template require_fit<Out>(); }) return L::template require_fit<Out>();
  return true;
}

/// True for a metric, whatever the loss.
template <class M>
consteval bool require_metric_argument() {
  static_assert(Metric<M> || !Loss<M>,
                "trireme: a loss stands where a metric belongs; the losses are metrics under their names in metrics, "
                "metrics::MeanAbsoluteError{}, and others as metrics::MeanOf<Loss>{}");
  static_assert(Metric<M> || Loss<M>,
                "trireme: a metric needs name, direction, state_size, update(prediction, target, size, "
                "weight, state) and result(state)");
  return Metric<M>;
}

template <class M, class Target, class Out>
consteval bool require_metric() {
  require_metric_argument<M>();
  if constexpr (requires { M::template require_fit<Target, Out>(); }) return M::template require_fit<Target, Out>();
  return true;
}

}  // namespace detail
}  // namespace trireme
