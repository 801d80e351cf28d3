/// What a strategy is, and the sentences for what is not one.
#pragma once

#include <cstddef>
#include <type_traits>
#include <utility>

#include "trireme/backend/execution/plan.hpp"
#include "trireme/core/phase.hpp"
#include "trireme/data/batch.hpp"

namespace trireme {

/// A distribution strategy places a model: `place(model, plan)` returns this process's part of it, whose type is
/// `Part<Model>` and which can
///   share(phase)                 say which rows of each global batch this process draws
///   claims(), claim(next)        or whether it claims whole batches of an epoch, and which one is its next
///   train_step(batch)            take one optimizer step on the global batch; may still be in flight when it returns
///   test_step(batch), predict_step(batch, out)
///   reset_metrics(phase), metrics(phase)   collective, exact, Uniform
///   agree(wish), decide(wishes)  turn wishes of this process into a decision of all
///   snapshot(), restore(s)       keep its weights where they lie
///   stream_to(state)             send the complete state to the chief, and change none: const
///   state(archive), gather(s), scatter(weights)   the rest of what a checkpoint holds (optional: ResumablePart)
///   resumed()                    (optional) the whole of a checkpoint has been set
///   drain()                      end the epoch: wait until nothing is in flight, perhaps bring the processes' weights
///                                together, and say whether a process has ended the epoch; called by fit alone
///   verify_replicas()            throw if the processes no longer agree on the weights
template <class S>
concept DistributionStrategy = requires {
  typename S::Space;
}
&&requires(S const& strategy) { strategy.group(); };

template <class S>
consteval bool require_strategy() {
  static_assert(
      requires { typename S::Space; },
      "trireme: a strategy needs a type Space, the Kokkos execution space that a process computes in");
  static_assert(
      requires(S const& strategy) { strategy.group(); },
      "trireme: a strategy needs group(), its processes: a Communicator, or a SingleProcess");
  return true;
}

namespace detail {

/// What callbacks wish, as `decide` is given it.
struct SomeWishes {
  static constexpr bool needs_vote = true;
  bool local_wish = false, uniform_wish = false;
};

/// What `fit`, `evaluate` and `predict` ask a part for, a sentence for each.
template <class P>
consteval bool require_part() {
  static_assert(
      requires {
        typename P::T;
        typename P::L;
        typename P::Model;
      },
      "trireme: a strategy's part needs the types Model, T (its scalar) and L (its label), as PlacedPart has them");
  using Rows = Batch<typename P::T, typename P::L>;
  static_assert(
      requires(P const& part) { part.model(); },
      "trireme: a strategy's part needs model(), the model that was placed, as PlacedPart has it");
  static_assert(
      requires(P const& part) { part.group(); },
      "trireme: a strategy's part needs group(), its processes, as PlacedPart has it");
  static_assert(
      requires(P const& part) { Share(part.share(Phase::train)); },
      "trireme: a strategy's part needs share(phase), which says which rows of each global batch it draws");
  static_assert(
      requires(P & part) {
        part.claims();
        part.claim(std::size_t{0});
        part.withdraw();
      },
      "trireme: a strategy's part needs claims(), claim(next) and withdraw(), which say whether it takes whole batches "
      "of an epoch, as PlacedPart has them");
  static_assert(
      requires(P & part, Rows const& batch) { part.train_step(batch); },
      "trireme: a strategy's part needs train_step(batch), one optimizer step on the global batch, of which `batch` is "
      "its rows");
  static_assert(
      requires(P & part, Rows const& batch) { part.test_step(batch); },
      "trireme: a strategy's part needs test_step(batch), which adds its rows to the metrics of a test");
  static_assert(
      requires(P & part, Rows const& batch, typename P::T* out) { part.predict_step(batch, out); },
      "trireme: a strategy's part needs predict_step(batch, out), which puts the outputs of its rows into host memory");
  static_assert(
      requires(P & part) { part.reset_metrics(Phase::train); },
      "trireme: a strategy's part needs reset_metrics(phase), after which loss and metrics are summed up anew");
  static_assert(
      requires(P & part) { part.metrics(Phase::train).value(); },
      "trireme: a strategy's part needs metrics(phase), the loss and metrics over all processes as a Uniform");
  static_assert(
      requires(P & part, SomeWishes wishes) { bool(part.decide(wishes)); },
      "trireme: a strategy's part needs decide(wishes), which turns what callbacks wish into a decision of all "
      "processes, as PlacedPart has it");
  static_assert(
      requires(P & part) { bool(part.drain()); },
      "trireme: a strategy's part needs drain(), which returns when nothing is in flight, and whether to stop, as a "
      "Uniform<bool>");
  static_assert(
      requires(P & part) { part.verify_replicas(); },
      "trireme: a strategy's part needs verify_replicas(), which throws if the processes no longer agree");
  return true;
}

}  // namespace detail

/// Whether the strategy places such a model, and what it places is a part.
template <class S, class Model>
consteval bool require_placement() {
  require_strategy<S>();
  static_assert(
      requires { typename S::template Part<Model>; },
      "trireme: a strategy needs a template Part<Model>, the type of a process's part of a model");
  using Part = typename S::template Part<Model>;
  static_assert(
      requires(S const& strategy, Model model, Plan plan) { Part(strategy.place(std::move(model), plan)); },
      "trireme: a strategy needs place(model, plan) const, which returns its Part<Model>");
  return detail::require_part<Part>();
}

namespace detail {

/// What a callback's run holds (PlacedModel) knows the part alone.
template <class S, class CompiledModel>
inline constexpr bool is_own_strategy =
    std::is_same_v<typename S::template Part<typename CompiledModel::Model>, typename CompiledModel::Part>;
template <class S, class CompiledModel>
requires requires { typename CompiledModel::Strategy; }
inline constexpr bool is_own_strategy<S, CompiledModel> = std::is_same_v<S, typename CompiledModel::Strategy>;

}  // namespace detail

/// A model is trained by the strategy that placed it.
template <class S, class CompiledModel>
consteval bool require_own_strategy() {
  static_assert(detail::is_own_strategy<S, CompiledModel>,
                "trireme: the model was compiled for another strategy; compile it with the strategy that trains it");
  return require_strategy<S>();
}

}  // namespace trireme
