/// MeanSquaredError: the mean of the squared errors.
#pragma once

#include <cstddef>

#include <Kokkos_Macros.hpp>

#include "trireme/core/fixed_string.hpp"
#include "trireme/losses/targets.hpp"

namespace trireme {

/// Mean squared error: the mean over a position's outputs of (p - y)^2.
///
/// Prediction p and target y (rows, …, outputs); one value a position, in the squared unit of the target. The formula
/// is that of Keras's MeanSquaredError.
struct MeanSquaredError {
  static constexpr FixedString name = "mean_squared_error";
  using target = DenseTarget;
  static constexpr auto outputs = LossOutputs::mean;

  template <class T>
  KOKKOS_FUNCTION T operator()(T const* prediction, T const* truth, std::size_t size, T scale, T* gradient) const {
    T const slope = T(2) * scale / static_cast<T>(size);
    T sum = 0;
    for (std::size_t i = 0; i < size; ++i) {
      T const error = prediction[i] - truth[i];
      sum += error * error;
      if (gradient != nullptr) gradient[i] = slope * error;
    }
    return sum / static_cast<T>(size);
  }
};

}  // namespace trireme
