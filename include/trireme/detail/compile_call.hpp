/// Diagnostics for calls of compile with missing, swapped or wrong arguments: one sentence that shows the right call.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <type_traits>

#include <Kokkos_Core.hpp>

#include "trireme/backend/execution/parallelism.hpp"
#include "trireme/metrics/metric.hpp"
#include "trireme/models/output.hpp"
#include "trireme/optimizers/optimizer.hpp"
#include "trireme/strategies/strategy.hpp"

namespace trireme {

struct CompileOptions;

namespace detail {

template <class T>
concept Text = std::is_convertible_v<T const&, std::string_view>;

template <class O>
concept OptimizerLike = requires(O const& optimizer) {
  optimizer.slots();
  optimizer.learning_rate;
};

template <class A>
concept BeginsWithInput = requires(A const& architecture) { architecture.input(); };

template <class>
inline constexpr bool is_outputs = false;
template <class... O>
inline constexpr bool is_outputs<Outputs<O...>> = true;

// Each is true if the argument is of the right kind, and does not compile if it is not.

template <class S>
consteval bool require_strategy_to_compile() {
  constexpr bool space = Kokkos::is_execution_space_v<S>;
  constexpr bool other = BeginsWithInput<S> || OptimizerLike<S> || Loss<S> || Metric<S>;
  static_assert(!space,
                "trireme: an execution space stands where a strategy belongs: OneDeviceStrategy<Kokkos::OpenMP>{}");
  static_assert(!other,
                "trireme: compile takes the strategy first: compile(strategy, layers, optimizer, loss, metrics...)");
  return !space && !other;
}

template <class A>
consteval bool require_architecture() {
  static_assert(!DistributionStrategy<A>,
                "trireme: compile takes the strategy first: compile(strategy, layers, optimizer, loss, metrics...)");
  static_assert(DistributionStrategy<A> || BeginsWithInput<A>,
                "trireme: compile takes a model behind the strategy, layers that begin with an Input: "
                "Sequential{Input<784>{}, Dense<10>{}}");
  return BeginsWithInput<A>;
}

template <class T>
consteval bool require_no_text() {
  static_assert(!Text<T>,
                "trireme: optimizers, losses and metrics are objects, not names: Adam{}, MeanSquaredError{}, "
                "Accuracy{}");
  return !Text<T>;
}

/// The members of an optimizer that its rule is made of; tried in float, since a rule is a template of its scalar.
template <class O>
consteval bool require_rule() {
  constexpr bool initial = requires(O const& optimizer) {
    { optimizer.initial(std::size_t{}) } -> std::convertible_to<double>;
  };
  static_assert(initial, "trireme: an optimizer needs initial(slot), the first value of each of its slots");
  constexpr bool step = requires(O const& optimizer) { optimizer.template step<float>(std::uint64_t{}, double{}); };
  static_assert(step,
                "trireme: an optimizer needs a template step<T>(iteration, rate) that returns the rule of a step");
  if constexpr (initial && step) {
    using Rule = RuleOf<O, float>;
    static_assert(
        !DeclaresTensorSums<Rule> || TensorRule<Rule, float>,
        "trireme: a rule with tensor_sums needs add(i, weights, gradient, slots, sums) const for the summands "
        "of element i, and of_tensor(sums) const for the rule of a tensor");
    static_assert(DeclaresTensorSums<Rule> || ElementRule<Rule, float>,
                  "trireme: what an optimizer's step<T>(iteration, rate) returns is called for element i: "
                  "operator()(i, weights, gradient, slots) const");
    return trireme::Optimizer<O, float>;
  } else {
    return false;
  }
}

template <class O>
consteval bool require_optimizer() {
  static_assert(OptimizerLike<O> || (!Loss<O> && !Metric<O> && !is_outputs<O>),
                "trireme: the optimizer stands before loss and metrics: compile(strategy, layers, Adam{}, "
                "MeanSquaredError{}, metrics...)");
  static_assert(OptimizerLike<O> || Loss<O> || Metric<O> || is_outputs<O>,
                "trireme: an optimizer needs a learning_rate and slots(), as Adam has them");
  if constexpr (OptimizerLike<O>)
    return require_rule<O>();
  else
    return false;
}

template <class L>
consteval bool require_loss_argument() {
  static_assert(!Metric<L>,
                "trireme: the loss stands before the metrics: compile(strategy, layers, optimizer, MeanSquaredError{}, "
                "metrics...)");
  static_assert(Loss<L> || is_outputs<L> || Metric<L>,
                "trireme: compile takes a loss behind the optimizer; a loss needs `using target = DenseTarget` or "
                "ClassIndex, a name, and operator()(prediction, target, size, scale, gradient)");
  return Loss<L> || is_outputs<L>;
}

template <class M>
consteval bool require_metric_or_options() {
  if constexpr (std::is_same_v<M, CompileOptions>)
    return true;
  else if constexpr (!require_no_text<M>())
    return false;
  else
    return require_metric_argument<M>();
}

/// True if the arguments are of the right kinds.
template <class Strategy, class Architecture, class Optimizer, class Loss, class... Rest>
consteval bool require_compile_call() {
  if constexpr (!require_strategy_to_compile<Strategy>())
    return false;
  else if constexpr (!require_architecture<Architecture>())
    return false;
  else if constexpr (!(require_no_text<Optimizer>() && require_no_text<Loss>()))
    return false;
  else if constexpr (!require_optimizer<Optimizer>())
    return false;
  else if constexpr (!require_loss_argument<Loss>())
    return false;
  else
    return (... && require_metric_or_options<Rest>());
}

/// Diagnostic for fewer arguments than compile takes.
template <class First, class... Rest>
consteval bool explain_compile() {
  if constexpr (require_strategy_to_compile<First>())
    static_assert(sizeof...(Rest) == 0 && sizeof...(Rest) != 0,
                  "trireme: compile takes a strategy, layers, an optimizer and a loss: compile(strategy, "
                  "Sequential{...}, Adam{}, MeanSquaredError{}, metrics...)");
  return true;
}

/// Members of CompileOptions, to match braces in the place of its name.
struct UnnamedOptions {
  std::uint64_t seed = 0;
  Parallelism parallelism = Parallelism::automatic;
};

}  // namespace detail

// These overloads take the calls that fit no other compile, and never compile.
template <class T = float, class First, class Second, class Third>
  requires(DistributionStrategy<First> || detail::BeginsWithInput<First> || detail::OptimizerLike<Second>)
auto compile(First const&, Second const&, Third const&) {
  static_assert(detail::explain_compile<First, Second, Third>());
}
template <class T = float, class Strategy, class Architecture, class Optimizer, class Loss>
  requires DistributionStrategy<Strategy>
auto compile(Strategy const&, Architecture const&, Optimizer const&, Loss const&, detail::UnnamedOptions const&) {
  static_assert(sizeof(T) == 0, "trireme: options of compile have a name: compile(..., CompileOptions{.seed = 7})");
}

}  // namespace trireme
