/// MeanSquaredLogarithmicError: the mean of the squared differences of log(1 + x).
#pragma once

#include <cstddef>

#include <Kokkos_MathematicalFunctions.hpp>

#include "trireme/backend/simd/math.hpp"
#include "trireme/core/fixed_string.hpp"
#include "trireme/losses/targets.hpp"

namespace trireme {

/// Mean squared logarithmic error: the mean over a position's outputs of (log(1 + p) - log(1 + y))^2.
///
/// Prediction p and target y (rows, …, outputs), both meant not to be negative: smaller numbers are raised to 1e-7,
/// with gradient 0. One value a position, without a unit. The formula is that of Keras's MeanSquaredLogarithmicError.
struct MeanSquaredLogarithmicError {
  static constexpr FixedString name = "mean_squared_logarithmic_error";
  using target = DenseTarget;
  static constexpr auto outputs = LossOutputs::mean;

  static constexpr double smallest = 1e-7;  ///< both sides are raised to it

  template <class T>
  KOKKOS_FUNCTION T operator()(T const* prediction, T const* truth, std::size_t size, T scale, T* gradient) const {
    T const low = static_cast<T>(smallest);
    T const slope = T(2) * scale / static_cast<T>(size);
    using Kokkos::log1p;
    T sum = 0;
    for (std::size_t i = 0; i < size; ++i) {
      T const p = math::where(prediction[i] < low, low, prediction[i]);
      T const z = math::where(truth[i] < low, low, truth[i]);
      T const error = log1p(p) - log1p(z);
      sum += error * error;
      if (gradient != nullptr) gradient[i] = math::where(prediction[i] < low, T(0), slope * error / (T(1) + p));
    }
    return sum / static_cast<T>(size);
  }
};

}  // namespace trireme
