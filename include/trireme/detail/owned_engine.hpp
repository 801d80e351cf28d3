/// OwnedEngine: the engine that a compiled model owns, and what moves with it.
#pragma once

#include <cstdint>
#include <memory>
#include <type_traits>
#include <utility>

#include "trireme/backend/execution/parallelism.hpp"
#include "trireme/backend/execution/running.hpp"
#include "trireme/core/error.hpp"
#include "trireme/data/data_passes.hpp"
#include "trireme/detail/engine_of.hpp"
#include "trireme/environment/error_barrier.hpp"
#include "trireme/models/model_use.hpp"
#include "trireme/models/phase_totals.hpp"
#include "trireme/models/shared_weights.hpp"
#include "trireme/mpi/communicator.hpp"

namespace trireme::detail {

/// An engine with the links of its Shared layers, which follow it when it moves, the mark of its use, and the barrier
/// of its processes. Moved, not copied.
template <class EngineType>
struct OwnedEngine {
  using Engine = EngineType;
  using Links = SharedLinksOf<Engine>;

  /// Builds the engine. Collective, as the strategy's `build` is.
  template <class Strategy, class Model>
  OwnedEngine(Strategy const& strategy, Model model, Parallelism plan)
      : engine(EngineOf<Strategy, Model>::build(strategy, std::move(model), plan)) {
    if constexpr (!std::is_same_v<Links, NoSharedLinks>)
      shared = Links(engine);
    else if (!engine.model().description().shared.empty())
      throw ValueError(
          "Shared layers need a strategy whose weights can be read and set, by host_values and set_values");
    if constexpr (std::is_same_v<std::decay_t<decltype(engine.group())>, Communicator>)
      if (engine.group().size() > 1) error_barrier = std::make_unique<ErrorBarrier>(engine.group());
  }

#if defined(__GNUC__) && !defined(__CUDACC__)  // nvcc knows no such attribute
#define TRIREME_NOT_COPIED    \
  __attribute__((unavailable( \
      "trireme: a compiled model is moved, not copied, since it owns its weights; give it on by reference")))
  TRIREME_NOT_COPIED OwnedEngine(OwnedEngine const&);
  TRIREME_NOT_COPIED OwnedEngine& operator=(OwnedEngine const&);
#undef TRIREME_NOT_COPIED
#else
  OwnedEngine(OwnedEngine const&) = delete;
  OwnedEngine& operator=(OwnedEngine const&) = delete;
#endif
  OwnedEngine(OwnedEngine&& other) noexcept
      : needs_kokkos(std::move(other.needs_kokkos)),
        engine(std::move(other.engine)),
        shared(std::move(other.shared)),
        use(std::move(other.use)),
        error_barrier(std::move(other.error_barrier)),
        weight_changes(other.weight_changes),
        data_passes(other.data_passes) {
    shared.follow(engine);
  }
  OwnedEngine& operator=(OwnedEngine&& other) noexcept {
    needs_kokkos = std::move(other.needs_kokkos);
    engine = std::move(other.engine);
    shared = std::move(other.shared);
    shared.follow(engine);
    use = std::move(other.use);
    error_barrier = std::move(other.error_barrier);
    weight_changes = other.weight_changes;
    data_passes = other.data_passes;
    return *this;
  }

  /// Counts that weights were set, and publishes them. Collective.
  void weights_changed() {
    ++weight_changes;
    publish();
  }
  /// Copies the weights of Shared layers to the other models that have them. Collective.
  void publish() {
    if (!shared.empty()) shared.publish(engine, false);
  }
  /// The same in a resumed run. \param trained  it goes on within an epoch, with weights that none had published
  void publish_resumed(bool trained) {
    publish();
    if (trained) shared.note_changed(true);
  }
  /// Copies those that training, or a restore, has changed. Collective.
  void publish_trained() {
    if (shared.empty()) return;
    if constexpr (!requires { engine.show_mean(); }) engine.finish_epoch();  // of local steps it shares the mean
    shared.publish(engine, true);
  }

  /// Values of a weight on the host, of a Shared layer as the model has them that trained it last.
  auto host_values(WeightInfo const& weight) const {
    if constexpr (!std::is_same_v<Links, NoSharedLinks>)
      if (auto newer = shared.newer(weight)) return std::move(*newer);
    return engine.weights().host_values(weight.offset, weight.size);
  }
  /// All weights in the same way.
  auto host_parameters() const {
    auto arena = engine.weights().host_parameters();
    if constexpr (!std::is_same_v<Links, NoSharedLinks>) shared.set_newer(arena);
    return arena;
  }

  NeedsKokkos needs_kokkos{"a compiled model"};  // before the engine, which needs Kokkos at once
  Engine engine;
  Links shared;
  ModelUse use;
  std::unique_ptr<ErrorBarrier> error_barrier;  ///< null in a model of one process
  std::uint64_t weight_changes = 0;
  DataPasses data_passes;
  PhaseTotals totals;  ///< not moved, as scopes of calls refer to it
};

}  // namespace trireme::detail
