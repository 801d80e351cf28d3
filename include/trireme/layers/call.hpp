/// What a layer's forward and backward are given: a slice of rows, its parameters, its workspace.
#pragma once

#include <cstddef>
#include <cstdint>

namespace trireme {

/// Where a slice stands in the run: whatever is drawn at random depends on this and on the element alone, never on the
/// number of ranks, replicas or threads.
struct StepKeys {
  std::uint64_t seed = 0;
  std::uint64_t step = 0;        ///< optimizer steps so far
  std::uint32_t micro_step = 0;  ///< gradient accumulation
  std::uint64_t first_row = 0;   ///< index of the slice's first row in the global batch
  std::uint32_t layer = 0;       ///< index of the layer in the model, counted through nested models
  std::size_t global_rows = 0;   ///< of the batch, over all processes
};

/// Samples are contiguous, row-major, channels last. `workspace` holds what backward will want, and survives until
/// then.
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
  T* state_updates = nullptr;         ///< while training: this slice's share of the batch's mean goes there
  T const* frozen_weights = nullptr;  ///< of the layers within it that are Frozen
  bool frozen = false;                ///< whether the layer is itself: a batch's statistics are not taken then
  T const* const* x_rows = nullptr;   ///< where x is null: its rows, which lie apart; see takes_scattered_rows
};

/// The gradient (m, n) of a matrix of weights as a product that is yet to be computed: x^T dy, of what went in (k, m)
/// and of the gradient of what came out (k, n), rows one after another, all in the model's scalar.
struct SharedProduct {
  std::size_t m, n, k;
  void const *x, *dy;
  void const* gradients;
  void const* x_rows = nullptr;  ///< where x is null: pointers to its rows, which lie apart
};

/// Told by a model, as backward goes on, from which address of the gradient arena on all gradients are final: so that
/// their reduction can start while earlier layers still compute.
class GradientListener {
 public:
  virtual void gradients_ready(void const* from) = 0;

  /// Told before a table's gradients are written, whose rows are zero but those that `indices` name: `count` numbers in
  /// the model's scalar, which stay where they are until the step ends. If true the other rows are zero already, and
  /// these are to be added to; if false all of it is to be overwritten as ever.
  virtual bool only_rows(void const* /*gradients*/, void const* /*indices*/, std::size_t /*count*/) { return false; }

  /// Asked before `count` gradients are written, by a layer that needs their weights no more. If true they are not to
  /// be written: `take` is given each of them once, and may change its weight.
  virtual bool takes(void const* /*gradients*/, std::size_t /*count*/) { return false; }
  /// The `values` of `count` gradients, numbers in the model's scalar that end with the call. Called by any thread of
  /// the host.
  virtual void take(void const* /*gradients*/, void const* /*values*/, std::size_t /*count*/) {}

  /// Asked by a layer with such a gradient, under a context of which `shares_products` is true, before it computes dy;
  /// k is the same multiple of the rows in all slices of a batch. If true the product is left to `share`, once, with x
  /// and dy that stay until the step ends.
  virtual bool shares(std::size_t /*m*/, std::size_t /*n*/, std::size_t /*k*/) { return false; }
  virtual void share(SharedProduct const&) {}

  /// Told at the end, and mostly instead of all else, where a batch has no rows and gradients were set to zero.
  virtual void no_rows() {}

 protected:
  ~GradientListener() = default;
};

/// `dy` may be overwritten; `dx` is null where nobody wants it; `gradients` are overwritten, not added to. Where the
/// layer is `frozen` they are null, and not wanted.
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
