/// Snapshot: weights that a callback keeps for later.
#pragma once

#include <any>
#include <utility>

namespace trireme {

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
    handle_ = run.snapshot();
  }

  /// Sets the run's weights to those of the snapshot, which has to hold some.
  template <class Run>
  void restore_to(Run& run) const {
    run.restore(get<decltype(run.snapshot())>());
  }

  /// Frees the weights.
  void reset() { handle_.reset(); }

  /// The handle, for archives, which write its weights.
  template <class Handle>
  Handle const& get() const {
    return std::any_cast<Handle const&>(handle_);
  }
  /// Takes a handle to weights, for archives.
  template <class Handle>
  void set(Handle handle) {
    handle_ = std::move(handle);
  }

 private:
  std::any handle_;
};

}  // namespace trireme
