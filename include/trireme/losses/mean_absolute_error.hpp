/// MeanAbsoluteError: the mean of the absolute errors; its derivative is 0 where there is no error.
#pragma once

#include <cstddef>

#include <Kokkos_MathematicalFunctions.hpp>

#include "trireme/backend/simd/math.hpp"
#include "trireme/core/fixed_string.hpp"
#include "trireme/losses/targets.hpp"

namespace trireme {

/// Mean absolute error: the mean over a position's outputs of |p - y|.
///
/// Prediction p and target y (rows, …, outputs); one value a position, in the unit of the target. The derivative is 0
/// where there is no error. The formula is that of Keras's MeanAbsoluteError.
struct MeanAbsoluteError {
  static constexpr FixedString name = "mean_absolute_error";
  using target = DenseTarget;
  static constexpr auto outputs = LossOutputs::mean;

  template <class T>
  KOKKOS_FUNCTION T operator()(T const* prediction, T const* truth, std::size_t size, T scale, T* gradient) const {
    T const slope = scale / static_cast<T>(size);
    using Kokkos::fabs;
    T sum = 0;
    for (std::size_t i = 0; i < size; ++i) {
      T const error = prediction[i] - truth[i];
      sum += fabs(error);
      if (gradient != nullptr) {
        gradient[i] = math::where(error > T(0), slope, math::where(error < T(0), -slope, T(0) * error));
      }
    }
    return sum / static_cast<T>(size);
  }
};

}  // namespace trireme
