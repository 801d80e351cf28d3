/// KLDivergence: the Kullback-Leibler divergence of the prediction from the target.
#pragma once

#include <cstddef>

#include <Kokkos_MathematicalFunctions.hpp>

#include "trireme/backend/simd/math.hpp"
#include "trireme/core/fixed_string.hpp"
#include "trireme/losses/targets.hpp"

namespace trireme {

/// Kullback-Leibler divergence of a position: sum_i y_i log(y_i / p_i).
///
/// Prediction p and target y (rows, …, outputs), distributions along the last axis; one value a position, in nats. Both
/// are clipped to [1e-7, 1] and not normalised; the gradient is 0 where p is clipped. The formula is that of Keras's
/// KLDivergence.
struct KLDivergence {
  static constexpr FixedString name = "kl_divergence";
  using target = DenseTarget;
  static constexpr auto outputs = LossOutputs::sum;

  static constexpr double smallest = 1e-7;  ///< both sides are clipped to [1e-7, 1]

  template <class T>
  KOKKOS_FUNCTION T operator()(T const* prediction, T const* truth, std::size_t size, T scale, T* gradient) const {
    using Kokkos::log;
    T sum = 0;
    for (std::size_t i = 0; i < size; ++i) {
      T const p = clip(prediction[i]), z = clip(truth[i]);
      sum += z * log(z / p);
      if (gradient != nullptr) gradient[i] = math::where(prediction[i] == p, -scale * z / p, T(0));
    }
    return sum;
  }

 private:
  template <class T>
  static KOKKOS_FUNCTION T clip(T p) {
    T const low = static_cast<T>(smallest);
    return math::where(p < low, low, math::where(p > T(1), T(1), p));
  }
};

}  // namespace trireme
