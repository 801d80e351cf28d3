/// Arguments of a layer's forward and backward.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "trireme/backend/gemm/rows_view.hpp"
#include "trireme/layers/gradient.hpp"
#include "trireme/layers/parameter.hpp"
#include "trireme/layers/step_number.hpp"

namespace trireme {

/// Position of a slice in the run: random numbers depend on this and on the element alone, never on the number of
/// ranks, replicas or threads.
struct StepKeys {
  std::uint64_t seed = 0;
  StepNumber step = 0;           ///< optimizer steps so far
  std::uint32_t micro_step = 0;  ///< gradient accumulation
  std::uint64_t first_row = 0;   ///< index of the slice's first row in the global batch
  std::uint32_t layer = 0;       ///< index of the layer in the model, counted through nested models
  std::size_t global_rows = 0;   ///< of the batch, over all processes
};

/// Tensors of a layer by their index in its declaration: addresses or Gradients, at most most_layer_tensors.
template <class Tensor>
class LayerTensors {
 public:
  /// Adds the tensor of the next index.
  constexpr void add(Tensor const& tensor) { all_[count_++] = tensor; }
  /// Number of tensors.
  constexpr std::size_t size() const { return count_; }
  /// Null for one that the layer does not declare, such as the bias of a layer without one.
  constexpr Tensor operator[](std::size_t i) const { return i < count_ ? all_[i] : Tensor{}; }

 private:
  std::array<Tensor, most_layer_tensors> all_{};
  std::size_t count_ = 0;
};

/// Arguments of a layer's forward: it reads x (rows, input extents) and writes y (rows, output extents). Samples are
/// contiguous, row-major, channels last; `rows` may be 0.
///
/// `parameters`, `states` and `state_updates` have the extents that the layer declares, `saved` its counts.
template <class T>
struct Forward {
  std::size_t rows;
  T const* x;
  T* y;
  LayerTensors<T const*> parameters;
  LayerTensors<T*> saved;  ///< what `saved` of the layer declares: backward finds it as forward leaves it
  StepKeys keys;
  bool training;
  bool frozen;  ///< true if the layer is Frozen: it takes no statistics of the batch
  LayerTensors<T const*> states;
  LayerTensors<T*> state_updates;  ///< while training: this slice's part of the batch's mean; otherwise null
  RowsView<T> scattered{};         ///< the rows of x where that is null; see `takes_scattered_rows`

  /// The rows of x, in either form.
  RowsView<T> input() const { return x ? RowsView<T>(x) : scattered; }
};

/// Arguments of a layer's backward: it reads x (rows, input extents), y and dy (rows, output extents), and writes dx
/// (rows, input extents) and `gradients`.
///
/// `dy` may be overwritten; `dx` is null where it is not needed, and otherwise overwritten. Gradients are sums over the
/// rows.
template <class T>
struct Backward {
  std::size_t rows;
  T const* x;
  T const* y;
  T* dy;
  T* dx;
  LayerTensors<T const*> parameters;
  LayerTensors<Gradient<T>> gradients;  ///< of the parameters; null where the layer is Frozen
  LayerTensors<T*> saved;
  StepKeys keys;
  bool frozen;
  LayerTensors<T const*> states;  ///< as forward found them
  RowsView<T> scattered{};        ///< as in Forward

  /// The rows of x, in either form.
  RowsView<T> input() const { return x ? RowsView<T>(x) : scattered; }
};

/// Address of saved tensor i as numbers of another type U than the model's scalar, as `SavedTensor::of<U>` declares it.
template <class U, class Call>
U* saved_as(Call const& call, std::size_t i) {
  return reinterpret_cast<U*>(call.saved[i]);
}

}  // namespace trireme
