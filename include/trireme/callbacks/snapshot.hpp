/// Snapshot: weights that a callback keeps for later.
#pragma once

#include <any>
#include <cstdint>
#include <utility>

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
  explicit operator bool() const { return weights_.has_value(); }

  /// Keeps a copy of the run's weights in place of the earlier one.
  template <class Run>
  void take(Run& run) {
    set(run.snapshot());
  }

  /// Sets the run's weights to those of the snapshot, which has to hold some.
  template <class Run>
  void restore_to(Run& run) const {
    using Handle = decltype(run.snapshot());
    if constexpr (requires { typename Handle::Weights; })
      run.restore(Handle{get<typename Handle::Weights>(), moment_});
    else
      run.restore(get<Handle>());
  }

  /// Frees the weights.
  void reset() { weights_.reset(); }

  /// The weights, for archives, which write them.
  template <class Weights>
  Weights const& get() const {
    return std::any_cast<Weights const&>(weights_);
  }
  /// Takes weights of an unknown moment, for archives.
  template <class Weights>
  void set(Weights weights) {
    weights_ = std::move(weights);
    moment_ = {};
  }
  /// Takes weights and their moment.
  template <class Weights>
  void set(SnapshotHandle<Weights> handle) {
    weights_ = std::move(handle.weights);
    moment_ = handle.moment;
  }

 private:
  std::any weights_;
  SnapshotMoment moment_{};
};

}  // namespace trireme
