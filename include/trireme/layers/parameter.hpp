/// Descriptions of the tensors of a layer: parameters, states, and what it saves for backward.
#pragma once

#include <cstddef>
#include <string_view>

#include "trireme/initializers/initializer.hpp"
#include "trireme/layers/regularizer.hpp"
#include "trireme/tensor/shape.hpp"

namespace trireme {

/// Largest number of parameters of a layer, and of states, and of saved tensors. Compile-time error: a layer that
/// declares more.
inline constexpr std::size_t most_layer_tensors = 16;

/// Name and extents of a parameter: constexpr where the layer's extents are.
struct ParameterShape {
  std::string_view name;  ///< "kernel"; with the name of a layer within the layer "lstm_cell/kernel"
  Shape shape;
  std::string_view keras_group{};  ///< group of that inner layer in Keras's files: "cell"; empty: the layer's own
  std::size_t input_axes = 0;      ///< of compute_fans, for its initializer
};

/// State of a layer: numbers that training moves along without a gradient, such as moving averages. After a step state
/// = decay * state + (1 - decay) * the mean of what the step's forward stated, over the global batch's rows. `initial`
/// is the first value of each number.
struct StateShape {
  std::string_view name;
  Shape shape;
  double initial = 0;
  double decay = 0;
};

/// Memory of a layer between forward and backward of a slice, such as its preactivations or the workspace of a kernel:
/// `SavedTensor{count}` of the model's scalar, `SavedTensor::of<double>(count)` of another type.
struct SavedTensor {
  std::size_t count;
  std::size_t element_bytes = 0;  ///< 0: of the model's scalar

  /// Memory for `count` numbers of type U.
  template <class U>
  static constexpr SavedTensor of(std::size_t count) {
    return {count, sizeof(U)};
  }
  /// Bytes of all numbers, in a model of scalar T.
  template <class T>
  constexpr std::size_t bytes() const {
    return count * (element_bytes == 0 ? sizeof(T) : element_bytes);
  }
};

}  // namespace trireme
