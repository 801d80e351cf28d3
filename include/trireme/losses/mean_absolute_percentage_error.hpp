/// MeanAbsolutePercentageError: the mean of the errors in per cent of the true value.
#pragma once

#include <cstddef>

#include <Kokkos_MathematicalFunctions.hpp>

#include "trireme/backend/simd/math.hpp"
#include "trireme/core/fixed_string.hpp"
#include "trireme/losses/targets.hpp"

namespace trireme {

/// Mean absolute percentage error: the mean over a position's outputs of 100 |p - y| / max(|y|, 1e-7).
///
/// Prediction p and target y (rows, …, outputs); one value a position, in per cent. The derivative is 0 where there is
/// no error. The formula is that of Keras's MeanAbsolutePercentageError.
struct MeanAbsolutePercentageError {
  static constexpr FixedString name = "mean_absolute_percentage_error";
  using target = DenseTarget;
  static constexpr auto outputs = LossOutputs::mean;

  static constexpr double smallest_divisor = 1e-7;

  template <class T>
  KOKKOS_FUNCTION T operator()(T const* prediction, T const* truth, std::size_t size, T scale, T* gradient) const {
    T const per_cent = T(100) / static_cast<T>(size);
    using Kokkos::fabs;
    T sum = 0;
    for (std::size_t i = 0; i < size; ++i) {
      T const magnitude = fabs(truth[i]), smallest = static_cast<T>(smallest_divisor);
      T const divisor = math::where(magnitude < smallest, smallest, magnitude);
      T const error = prediction[i] - truth[i];
      sum += fabs(error) / divisor;
      T const slope = scale * per_cent / divisor;
      if (gradient != nullptr) {
        gradient[i] = math::where(error > T(0), slope, math::where(error < T(0), -slope, T(0) * error));
      }
    }
    return sum * per_cent;
  }
};

}  // namespace trireme
