/// The Loss and Metric concepts, and a sentence for each type that does not fit.
#pragma once

#include <concepts>
#include <cstddef>

#include "trireme/losses/targets.hpp"
#include "trireme/metrics/direction.hpp"

namespace trireme {

/// A metric is mergeable sums over positions: `name`, `direction`, `state_size`, `update(prediction, target, size,
/// weight, state)` which adds to the state, and `result(state)`. States of replicas and ranks are added.
template <class M>
concept Metric = requires(M const metric, double* state) {
  { M::state_size } -> std::convertible_to<std::size_t>;
  M::name.view();
  M::direction;
  metric.result(state);
};

/// A loss is a functor over one position, with the type of its target.
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
