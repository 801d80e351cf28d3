/// GradientSink: what a strategy does with the gradients of a backward pass.
#pragma once

#include <cstddef>

#include "trireme/backend/gemm/rows_view.hpp"

namespace trireme {

/// Gradient (m, n) of a matrix of weights as a product not computed yet: x^T dy, of a layer's input x (k, m) and of the
/// gradient of its output dy (k, n), row after row.
template <class T>
struct DeferredProduct {
  std::size_t m, n, k;
  RowsView<T> x;
  T const* dy;
  T const* gradients;
};

/// Receiver of the gradients of a backward pass. Addresses of gradients lie in the gradient arena. Layers reach it
/// through their Gradient handles; composites call `ready`.
template <class T>
class GradientSink {
 public:
  /// From that address of the arena on, all gradients are final, so that their reduction can start while earlier layers
  /// still compute. Called with falling addresses.
  virtual void ready(T const* from) = 0;

  /// Called before the sparse gradients of a table are written: all rows are zero except those that `indices` name,
  /// `count` numbers, which stay where they are until the step ends. If true, the other rows are zero already, and the
  /// layer adds to the named ones; if false, it overwrites all of them.
  virtual bool only_rows(T const* /*gradients*/, T const* /*indices*/, std::size_t /*count*/) { return false; }

  /// True if the sink consumes these `count` gradients directly: each is then passed once to `take` instead of being
  /// stored. Called before they are written, by a layer that has finished reading the weights: `take` may change them.
  virtual bool takes(T const* /*gradients*/, std::size_t /*count*/) { return false; }
  /// Takes the `values` of `count` gradients, which are valid until the call returns. Called by any thread of the host.
  virtual void take(T const* /*gradients*/, T const* /*values*/, std::size_t /*count*/) {}

  /// True if the layer leaves this product to `defer`, which it calls once, with x and dy that stay until the step
  /// ends. Called under a context with `defers_products`; k is the same multiple of the rows in all slices of a batch.
  virtual bool defers(std::size_t /*m*/, std::size_t /*n*/, std::size_t /*k*/) { return false; }
  /// Takes the product that `defers` has announced.
  virtual void defer(DeferredProduct<T> const&) {}

  /// Called at the end, and mostly instead of all other calls, where a batch has no rows and its gradients are set to
  /// zero.
  virtual void no_rows() {}

 protected:
  ~GradientSink() = default;
};

}  // namespace trireme
