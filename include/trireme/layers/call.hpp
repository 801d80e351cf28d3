/// Arguments of a layer's forward and backward: a slice of rows, its parameters, its workspace.
#pragma once

#include <cstddef>
#include <cstdint>

namespace trireme {

/// Position of a slice in the run: random numbers depend on this and on the element alone, never on the number of
/// ranks, replicas or threads.
struct StepKeys {
  std::uint64_t seed = 0;
  std::uint64_t step = 0;        ///< optimizer steps so far
  std::uint32_t micro_step = 0;  ///< gradient accumulation
  std::uint64_t first_row = 0;   ///< index of the slice's first row in the global batch
  std::uint32_t layer = 0;       ///< index of the layer in the model, counted through nested models
  std::size_t global_rows = 0;   ///< of the batch, over all processes
};

/// Samples are contiguous, row-major, channels last. `workspace` holds what backward needs, and survives until then.
template <class T>
struct Forward {
  std::size_t rows;
  T const* x;
  T* y;
  T const* parameters;
  std::byte* workspace;
  StepKeys keys;
  bool training;
  T const* states = nullptr;
  T* state_updates = nullptr;         ///< while training: this slice's part of the batch's mean
  T const* frozen_weights = nullptr;  ///< of the layers within it that are Frozen
  bool frozen = false;                ///< true if the layer itself is Frozen: it takes no statistics of the batch
  T const* const* x_rows = nullptr;   ///< where x is null: its rows, which lie apart; see takes_scattered_rows
};

/// The gradient (m, n) of a matrix of weights as a product not computed yet: x^T dy, of the layer's input (k, m) and of
/// the gradient of its output (k, n), row after row, all in the model's scalar.
struct SharedProduct {
  std::size_t m, n, k;
  void const *x, *dy;
  void const* gradients;
  void const* x_rows = nullptr;  ///< where x is null: pointers to its rows, which lie apart
};

/// Receiver of the gradients of a backward pass. The model calls `gradients_ready` as the pass goes on: from that
/// address of the gradient arena on, all gradients are final, so that their reduction can start while earlier layers
/// still compute.
class GradientListener {
 public:
  virtual void gradients_ready(void const* from) = 0;

  /// Called before the sparse gradients of a table are written: all rows are zero except those that `indices` name,
  /// `count` numbers in the model's scalar, which stay where they are until the step ends. If true, the other rows are
  /// zero already, and the layer adds to the named ones; if false, it overwrites all of them.
  virtual bool only_rows(void const* /*gradients*/, void const* /*indices*/, std::size_t /*count*/) { return false; }

  /// True if the listener consumes these `count` gradients directly. The layer then passes each once to `take` instead
  /// of storing it. Called before they are written, by a layer that has finished reading the weights: `take` may change
  /// them.
  virtual bool takes(void const* /*gradients*/, std::size_t /*count*/) { return false; }
  /// Takes the `values` of `count` gradients, in the model's scalar, which are valid until the call returns. Called by
  /// any thread of the host.
  virtual void take(void const* /*gradients*/, void const* /*values*/, std::size_t /*count*/) {}

  /// True if the layer leaves this product to `share`, which it calls once, with x and dy that stay until the step
  /// ends. Called under a context with `shares_products`, before dy is computed; k is the same multiple of the rows in
  /// all slices of a batch.
  virtual bool shares(std::size_t /*m*/, std::size_t /*n*/, std::size_t /*k*/) { return false; }
  virtual void share(SharedProduct const&) {}

  /// Called at the end, and mostly instead of all other calls, where a batch has no rows and its gradients are set to
  /// zero.
  virtual void no_rows() {}

 protected:
  ~GradientListener() = default;
};

/// `dy` may be overwritten; `dx` is null where it is not needed; `gradients` are overwritten, not added to, and null
/// where the layer is `frozen`.
template <class T>
struct Backward {
  std::size_t rows;
  T const* x;
  T const* y;
  T* dy;
  T* dx;
  T const* parameters;
  T* gradients;
  std::byte* workspace;
  StepKeys keys;
  GradientListener* listener = nullptr;
  T const* frozen_weights = nullptr;
  bool frozen = false;
  T const* const* x_rows = nullptr;  ///< as in Forward
};

}  // namespace trireme
