/// Poisson: minus the logarithm of the Poisson probability of the target, up to what the prediction does not change.
#pragma once

#include <cstddef>

#include <Kokkos_MathematicalFunctions.hpp>

#include "trireme/core/fixed_string.hpp"
#include "trireme/losses/targets.hpp"

namespace trireme {

/// Poisson loss: the mean over a position's outputs of p - y log(p + 1e-7).
///
/// Prediction p, the expected count, and target y, the count (rows, …, outputs), neither negative; one value a
/// position, in nats, without the term log(y!) that no prediction changes. A prediction below -1e-7 gives NaN. The
/// formula is that of Keras's Poisson.
struct Poisson {
  static constexpr FixedString name = "poisson";
  using target = DenseTarget;
  static constexpr auto outputs = LossOutputs::mean;

  static constexpr double epsilon = 1e-7;  ///< added to the prediction under the logarithm

  template <class T>
  KOKKOS_FUNCTION T operator()(T const* prediction, T const* truth, std::size_t size, T scale, T* gradient) const {
    T const slope = scale / static_cast<T>(size);
    using Kokkos::log;
    T sum = 0;
    for (std::size_t i = 0; i < size; ++i) {
      T const p = prediction[i], raised = p + static_cast<T>(epsilon);
      sum += p - truth[i] * log(raised);
      if (gradient != nullptr) gradient[i] = slope * (T(1) - truth[i] / raised);
    }
    return sum / static_cast<T>(size);
  }
};

}  // namespace trireme
