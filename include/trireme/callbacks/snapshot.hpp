/// Snapshot: weights that a callback keeps for later.
#pragma once

#include <any>
#include <cstdint>
#include <utility>

#include "trireme/backend/execution/kokkos_memory.hpp"

namespace trireme {

/// Moment of a run at which a snapshot was made. Snapshots of one moment have the same weights on all processes, unless
/// hooks have written to a `weights_view` between them.
struct SnapshotMoment {
  std::uint64_t step = 0;     ///< optimizer steps so far
  std::uint64_t history = 0;  ///< hash of the snapshots restored and of the calls that have set weights before; of a
                              ///< resumed one, of its name in the checkpoint
};

/// Handle that `run.snapshot()` returns: weights, and the moment that all processes have to restore alike.
template <class W>
struct SnapshotHandle {
  using Weights = W;
  Weights weights;
  SnapshotMoment moment{};
  HoldsKokkosMemory holds_kokkos_memory{};  ///< which has to be free when the Environment ends

  /// The weights alone, as the engine holds them.
  operator Weights const&() const { return weights; }  // NOLINT(google-explicit-constructor)
};

/// Weights that a callback keeps for later: a handle that `run.snapshot()` returned, or nothing. They stay in the
/// memory of the strategy's space.
///
/// The handle's type depends on the model, which a callback does not know: this erases the type, which must be the same
/// again when the snapshot is restored.
class Snapshot {
 public:
  explicit operator bool() const { return handle_.has_value(); }

  /// Keeps a copy of the run's weights in place of the earlier one.
  template <class Run>
  void take(Run& run) {
    set(run.snapshot());
  }

  /// Sets the run's weights to those of the snapshot, which has to hold some.
  template <class Run>
  void restore_to(Run& run) const {
    run.restore(std::any_cast<decltype(run.snapshot()) const&>(handle_));
  }

  /// Frees the weights.
  void reset() { handle_.reset(); }

  /// The weights, for archives, which write them.
  template <class Weights>
  Weights const& get() const {
    return std::any_cast<SnapshotHandle<Weights> const&>(handle_).weights;
  }
  /// Takes weights and their moment.
  template <class Weights>
  void set(SnapshotHandle<Weights> handle) {
    handle_ = std::move(handle);
  }

 private:
  std::any handle_;
};

}  // namespace trireme
