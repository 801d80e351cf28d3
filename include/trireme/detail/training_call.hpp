/// Diagnostics for calls of fit, evaluate and predict with missing, swapped or wrong arguments: one sentence that shows
/// the right call.
///
/// The functions check their own arguments with `require_call`. Overloads at the end take the calls that fit none of
/// them, if a strategy or a compiled model is among the arguments; they never compile.
#pragma once

#include <cstddef>
#include <tuple>
#include <type_traits>

#include <Kokkos_Core.hpp>

#include "trireme/callbacks/history.hpp"
#include "trireme/data/batch_size.hpp"
#include "trireme/data/data_shard.hpp"
#include "trireme/data/sample_rows.hpp"
#include "trireme/data/validation.hpp"
#include "trireme/metrics/logs.hpp"
#include "trireme/strategies/strategy.hpp"

namespace trireme {

struct FitOptions;
struct EvaluateOptions;

namespace detail {

template <class M>
concept Compiled = requires {
  typename M::Engine;
  typename M::Model;
};

template <class D>
concept Batched = requires(D const& data) { data.batches_per_epoch(DataShard{}); };

template <class D>
concept NotYetBatched = requires(D const& data, BatchSize size) { data.batch(size); };

template <class>
inline constexpr bool is_validation = false;
template <class Data>
inline constexpr bool is_validation<Validation<Data>> = true;

/// Data in any form, such as a dataset or arrays, to detect them where another argument is expected.
template <class D>
concept AnyData = Batched<D> || NotYetBatched<D> || data::SampleArrays<D> || is_validation<D>;

// Each is true if the argument is of the right kind, and does not compile if it is not.

template <class S>
consteval bool require_strategy_argument() {
  static_assert(!Compiled<S>,
                "trireme: fit, evaluate and predict take the strategy before the model: fit(strategy, model, data, "
                "{.epochs = 10})");
  static_assert(!Kokkos::is_execution_space_v<S>,
                "trireme: an execution space stands where a strategy belongs: OneDeviceStrategy<Kokkos::OpenMP>{}");
  return !Compiled<S> && !Kokkos::is_execution_space_v<S>;
}

template <class M>
consteval bool require_model_argument() {
  static_assert(Compiled<M>,
                "trireme: fit, evaluate and predict take a model that compile(strategy, ...) returned, after the "
                "strategy and before the data");
  static_assert(!Compiled<M> || !std::is_const_v<M>,
                "trireme: fit, evaluate and predict change the model that they are given: it must not be const");
  return Compiled<M> && !std::is_const_v<M>;
}

template <class D>
consteval bool require_data_argument() {
  static_assert(!NotYetBatched<D>,
                "trireme: fit, evaluate and predict take samples in batches: dataset.batch(GlobalBatch{32})");
  static_assert(!data::SampleArrays<D>,
                "trireme: fit, evaluate and predict take a dataset, not arrays: data::from_tensor_slices(x, y)"
                ".batch(GlobalBatch{32})");
  static_assert(!is_validation<D>,
                "trireme: validation(data) stands behind the training data in fit, and nowhere else");
  static_assert(Batched<D> || AnyData<D>,
                "trireme: fit, evaluate and predict take data in batches behind the model: data::from_tensor_slices(x, "
                "y).batch(GlobalBatch{32})");
  return Batched<D>;
}

template <class C>
consteval bool require_callback_argument() {
  static_assert(!AnyData<C>,
                "trireme: validation data stand before the options, as validation(data): fit(strategy, model, train, "
                "validation(test), {.epochs = 10}, callbacks...)");
  return !AnyData<C>;
}

/// True if the arguments are of the right kinds and the strategy is the model's own.
template <class Strategy, class Model, class Data, class... Callbacks>
consteval bool require_call() {
  if constexpr (!require_strategy_argument<Strategy>())
    return false;
  else if constexpr (!require_model_argument<Model>())
    return false;
  else if constexpr (!require_data_argument<Data>())
    return false;
  else if constexpr (!(... && require_callback_argument<std::remove_cvref_t<Callbacks>>()))
    return false;
  else
    return require_own_strategy<Strategy, Model>();
}

template <class Data>
consteval bool require_validation() {
  if constexpr (std::is_same_v<Data, NoData>)
    return true;
  else
    return require_data_argument<Data>();
}

/// Placeholder for a missing argument.
struct Missing {};

/// Diagnostic for arguments that no overload takes; `Options` is the type of the function's optional fourth argument.
template <class Options, class... Given>
consteval bool explain_call() {
  using All = std::tuple<Given..., Missing, Missing, Missing, Missing, Missing>;
  using Fourth = std::tuple_element_t<3, All>;
  using Fifth = std::tuple_element_t<4, All>;
  if constexpr (require_call<std::tuple_element_t<0, All>, std::tuple_element_t<1, All>,
                             std::tuple_element_t<2, All>>()) {
    constexpr bool validates = std::is_same_v<Options, FitOptions> && is_validation<Fourth>;
    constexpr bool fits = std::is_same_v<std::conditional_t<validates, Fifth, Fourth>, Options> ||
                          (std::is_void_v<Options> && !std::is_same_v<Fourth, EvaluateOptions>);
    constexpr bool unmarked = !fits && !validates && AnyData<Fourth>, misplaced = !fits && !unmarked;
    static_assert(!fits, "trireme: fit, evaluate and predict take the model as a variable that is not const");
    static_assert(!unmarked,
                  "trireme: data behind the first are for validation, and marked as such: fit(strategy, model, train, "
                  "validation(test), {.epochs = 10})");
    static_assert(!misplaced || !std::is_same_v<Options, FitOptions>,
                  "trireme: fit takes options behind the data and before the callbacks: fit(strategy, model, data, "
                  "{.epochs = 10}, callbacks...)");
    static_assert(!misplaced || !std::is_same_v<Options, EvaluateOptions>,
                  "trireme: evaluate takes options before the callbacks: evaluate(strategy, model, data, {}, "
                  "callbacks...)");
    static_assert(!misplaced || !std::is_void_v<Options>,
                  "trireme: predict takes no options: predict(strategy, model, data, callbacks...)");
  }
  return true;
}

/// Arguments with a strategy or a compiled model among them, and so meant for trireme.
template <class... Given>
concept ForTraining = (... || (Compiled<Given> || DistributionStrategy<Given>));

}  // namespace detail

// Braces have no type, so there is an overload for options in braces at each place of a call.
template <class... Given>
  requires detail::ForTraining<Given...>
History fit(Given const&...) {
  static_assert(detail::explain_call<FitOptions, Given...>());
  return {};
}
template <class A, class B, class... Rest>
  requires detail::ForTraining<A, B>
History fit(A const&, B const&, FitOptions const&, Rest const&...) {
  static_assert(detail::explain_call<FitOptions, A, B, FitOptions, Rest...>());
  return {};
}
template <class A, class B, class C, class... Rest>
  requires detail::ForTraining<A, B, C>
History fit(A const&, B const&, C const&, FitOptions const&, Rest const&...) {
  static_assert(detail::explain_call<FitOptions, A, B, C, FitOptions, Rest...>());
  return {};
}
template <class A, class B, class C, class D, class... Rest>
  requires detail::ForTraining<A, B, C, D>
History fit(A const&, B const&, C const&, D const&, FitOptions const&, Rest const&...) {
  static_assert(detail::explain_call<FitOptions, A, B, C, D, FitOptions, Rest...>());
  return {};
}
template <class A, class B, class C, class D, class E, class... Rest>
  requires detail::ForTraining<A, B, C, D, E>
History fit(A const&, B const&, C const&, D const&, E const&, FitOptions const&, Rest const&...) {
  static_assert(detail::explain_call<FitOptions, A, B, C, D, E, FitOptions, Rest...>());
  return {};
}

template <class... Given>
  requires detail::ForTraining<Given...>
Logs evaluate(Given const&...) {
  static_assert(detail::explain_call<EvaluateOptions, Given...>());
  return {};
}
template <class A, class B, class... Rest>
  requires detail::ForTraining<A, B>
Logs evaluate(A const&, B const&, EvaluateOptions const&, Rest const&...) {
  static_assert(detail::explain_call<EvaluateOptions, A, B, EvaluateOptions, Rest...>());
  return {};
}
template <class A, class B, class C, class... Rest>
  requires detail::ForTraining<A, B, C>
Logs evaluate(A const&, B const&, C const&, EvaluateOptions const&, Rest const&...) {
  static_assert(detail::explain_call<EvaluateOptions, A, B, C, EvaluateOptions, Rest...>());
  return {};
}
template <class A, class B, class C, class D, class... Rest>
  requires detail::ForTraining<A, B, C, D>
Logs evaluate(A const&, B const&, C const&, D const&, EvaluateOptions const&, Rest const&...) {
  static_assert(detail::explain_call<EvaluateOptions, A, B, C, D, EvaluateOptions, Rest...>());
  return {};
}

template <class... Given>
  requires detail::ForTraining<Given...>
auto predict(Given const&...) {
  static_assert(detail::explain_call<void, Given...>());
}
template <class A, class B, class C, class... Rest>
  requires detail::ForTraining<A, B, C>
auto predict(A const&, B const&, C const&, EvaluateOptions const&, Rest const&...) {
  static_assert(detail::explain_call<void, A, B, C, EvaluateOptions, Rest...>());
}

}  // namespace trireme
