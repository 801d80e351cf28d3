/// The DistributionStrategy concept, and an error message for each missing member.
#pragma once

#include <cstddef>
#include <type_traits>
#include <utility>

#include "trireme/backend/execution/parallelism.hpp"
#include "trireme/core/phase.hpp"
#include "trireme/data/batch.hpp"

namespace trireme {

/// A distribution strategy builds the engine that trains a model: `build(model, parallelism)` returns this process's
/// `Engine<Model>`, which has
///   data_shard(phase)            the rows of each global batch that this process draws
///   acquires_batches(), acquire(next), release()   or the whole batches of an epoch that it draws, one by one
///   train_step(batch)            one optimizer step on the global batch; may still be in flight when it returns
///   test_step(batch), predict_step(batch, out)
///   reset_metrics(phase), metrics(phase)   collective, exact, Uniform
///   agree(request), resolve(requests)   the decision of all processes on requests of their callbacks
///   weights()                    snapshot(), restore(s): keep the weights in the space's memory, and set them again;
///                                host_parameters(), host_values(offset, count), set_parameters(values),
///                                set_values(offset, values): read and set them on the host
///   optimizer()                  iteration(), has_schedule(), learning_rate(), and their setters
///   slots(), set_slot(slot, values), gather_state(state)   the optimizer's state from the chief; the complete state to
///                                the chief, which changes none: const
///   state(archive), weights().gather(s), weights().scatter(values)   the rest of what a checkpoint holds (optional:
///                                ResumableEngine)
///   resumed()                    (optional) called when the whole of a checkpoint has been set
///   finish_epoch()               waits until nothing is in flight, perhaps brings the processes' weights together, and
///                                returns true if a process has ended the epoch; called by fit alone
///   begun()                      (optional) exchanges between processes that this one has begun. If errors take all
///   out
///                                of a call and it is not the same on all, all end
///   show_mean()                  (optional) puts the mean of the processes' weights in the place of their own for an
///                                evaluation or predictions, until the result ends; collective
///   recover()                    (optional) called when errors have taken all processes out of a call: drops what is
///                                under way between them, or brings their weights together; collective
///   verify_replicas()            throws if the processes no longer agree on the weights
///   placement(), layer_placement()   (optional) how it has placed the model, as text, and the stage or ranks of each
///                                layer where they differ: for summary() and plot_model
template <class S>
concept DistributionStrategy = requires { typename S::Space; } && requires(S const& strategy) { strategy.group(); };

/// Compile-time check of the DistributionStrategy concept, with a sentence for each missing member.
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

/// For evaluation and predictions: what keeps the mean of the processes' weights in the place of their own, where an
/// engine has those. Collective.
template <class Engine>
auto with_mean_weights(Engine& engine) {
  if constexpr (requires { engine.show_mean(); })
    return engine.show_mean();
  else
    return nullptr;
}

/// Stop requests of callbacks, as the argument of `resolve`.
struct SomeStopRequests {
  static constexpr bool needs_vote = true;
  bool local_request = false, uniform_request = false;
};

/// Checks the members that `fit`, `evaluate` and `predict` call, with a message for each.
template <class P>
consteval bool require_engine() {
  static_assert(
      requires {
        typename P::T;
        typename P::L;
        typename P::Model;
      },
      "trireme: a strategy's engine needs the types Model, T (its scalar) and L (its label), as EngineBase has them");
  using Rows = Batch<typename P::T, typename P::L>;
  static_assert(
      requires(P const& engine) { engine.model(); },
      "trireme: a strategy's engine needs model(), the model that was placed, as EngineBase has it");
  static_assert(
      requires(P const& engine) { engine.group(); },
      "trireme: a strategy's engine needs group(), its processes, as EngineBase has it");
  static_assert(
      requires(P const& engine) { DataShard(engine.data_shard(Phase::train)); },
      "trireme: a strategy's engine needs data_shard(phase), which says which rows of each global batch it draws");
  static_assert(
      requires(P& engine) {
        engine.acquires_batches();
        engine.acquire(std::size_t{0});
        engine.release();
      },
      "trireme: a strategy's engine needs acquires_batches(), acquire(next) and release(), which say whether it takes "
      "whole batches "
      "of an epoch, as EngineBase has them");
  static_assert(
      requires(P& engine, Rows const& batch) { engine.train_step(batch); },
      "trireme: a strategy's engine needs train_step(batch), one optimizer step on the global batch, of which `batch` "
      "is "
      "its rows");
  static_assert(
      requires(P& engine, Rows const& batch) { engine.test_step(batch); },
      "trireme: a strategy's engine needs test_step(batch), which adds its rows to the metrics of a test");
  static_assert(
      requires(P& engine, Rows const& batch, typename P::T* out) { engine.predict_step(batch, out); },
      "trireme: a strategy's engine needs predict_step(batch, out), which puts the outputs of its rows into host "
      "memory");
  static_assert(
      requires(P& engine) { engine.reset_metrics(Phase::train); },
      "trireme: a strategy's engine needs reset_metrics(phase), after which loss and metrics are summed up anew");
  static_assert(
      requires(P& engine) { engine.metrics(Phase::train).value(); },
      "trireme: a strategy's engine needs metrics(phase), the loss and metrics over all processes as a Uniform");
  static_assert(
      requires(P& engine, SomeStopRequests requests) { bool(engine.resolve(requests)); },
      "trireme: a strategy's engine needs resolve(requests), which turns requests of callbacks into a decision of all "
      "processes, as EngineBase has it");
  static_assert(
      requires(P& engine) { bool(engine.finish_epoch()); },
      "trireme: a strategy's engine needs finish_epoch(), which returns when nothing is in flight, and whether to "
      "stop, "
      "as a "
      "Uniform<bool>");
  static_assert(
      requires(P& engine) { engine.verify_replicas(); },
      "trireme: a strategy's engine needs verify_replicas(), which throws if the processes no longer agree");
  return true;
}

}  // namespace detail

/// Checks that the strategy builds an engine for such a model, with all members.
template <class S, class Model>
consteval bool require_build() {
  require_strategy<S>();
  static_assert(
      requires { typename S::template Engine<Model>; },
      "trireme: a strategy needs a template Engine<Model>, the type of a process's engine of a model");
  using Engine = typename S::template Engine<Model>;
  static_assert(
      requires(S const& strategy, Model model, Parallelism plan) { Engine(strategy.build(std::move(model), plan)); },
      "trireme: a strategy needs build(model, plan) const, which returns its Engine<Model>");
  return detail::require_engine<Engine>();
}

namespace detail {

/// True if S built the model's engine. The model of a callback's run (PlacedModel) knows the engine alone.
template <class S, class CompiledModel>
inline constexpr bool is_own_strategy =
    std::is_same_v<typename S::template Engine<typename CompiledModel::Model>, typename CompiledModel::Engine>;
template <class S, class CompiledModel>
  requires requires { typename CompiledModel::Strategy; }
inline constexpr bool is_own_strategy<S, CompiledModel> = std::is_same_v<S, typename CompiledModel::Strategy>;

}  // namespace detail

/// Checks that a model is trained by the strategy that built its engine.
template <class S, class CompiledModel>
consteval bool require_own_strategy() {
  static_assert(detail::is_own_strategy<S, CompiledModel>,
                "trireme: the model was compiled for another strategy; compile it with the strategy that trains it");
  return require_strategy<S>();
}

}  // namespace trireme
