/// Hinge: the mean of max(1 - label * prediction, 0), with labels -1 and 1 (or 0 and 1).
#pragma once

#include <cstddef>

#include <Kokkos_Macros.hpp>

#include "trireme/backend/simd/math.hpp"
#include "trireme/core/fixed_string.hpp"
#include "trireme/losses/hinge_labels.hpp"
#include "trireme/losses/targets.hpp"

namespace trireme {

/// Hinge loss: the mean over a position's outputs of max(1 - y p, 0).
///
/// Prediction p, any numbers, and labels y (rows, …, outputs) of -1 and 1; one value a position, without a unit. A
/// position whose labels are all 0 or 1 has its 0 read as -1; Keras's Hinge looks at those of the whole batch.
struct Hinge {
  static constexpr FixedString name = "hinge";
  using target = DenseTarget;
  static constexpr auto outputs = LossOutputs::mean;

  template <class T>
  KOKKOS_FUNCTION T operator()(T const* prediction, T const* truth, std::size_t size, T scale, T* gradient) const {
    auto const zero_one = are_zero_one_labels(truth, size);
    T const slope = scale / static_cast<T>(size);
    T sum = 0;
    for (std::size_t i = 0; i < size; ++i) {
      T const z = hinge_label(zero_one, truth[i]);
      T const margin = T(1) - z * prediction[i];
      sum += math::where(margin < T(0), T(0), margin);
      if (gradient != nullptr) gradient[i] = math::where(margin < T(0), T(0), -slope * z);
    }
    return sum / static_cast<T>(size);
  }
};

}  // namespace trireme
