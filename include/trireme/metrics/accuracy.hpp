/// Accuracy: how often the prediction is right, for any kind of prediction.
#pragma once

#include <cstddef>
#include <type_traits>

#include <Kokkos_Macros.hpp>

#include "trireme/core/fixed_string.hpp"
#include "trireme/metrics/binary_accuracy.hpp"
#include "trireme/metrics/categorical_accuracy.hpp"
#include "trireme/metrics/direction.hpp"
#include "trireme/metrics/mean_state.hpp"
#include "trireme/metrics/sparse_categorical_accuracy.hpp"

namespace trireme {

/// Accuracy: the fraction of right predictions, in 0..1, for any kind of target.
///
/// Prediction (rows, …, outputs), target (rows, …, outputs) or class indices (rows, …). One output is compared by
/// BinaryAccuracy with threshold 0.5; several by SparseCategoricalAccuracy where the loss takes class indices, by
/// CategoricalAccuracy otherwise. Source: Keras's metric "accuracy".
struct Accuracy {
  static constexpr FixedString name = "accuracy";
  static constexpr Direction direction = Direction::up;
  static constexpr std::size_t state_size = MeanState::size;

  template <class Target, class OutputExtents>
  static constexpr bool fits = true;

  template <class T, class Label>
  KOKKOS_FUNCTION void update(T const* prediction, Label const* target, std::size_t size, double weight,
                              double* state) const {
    if (size == 1) {
      BinaryAccuracy{}.update(prediction, target, size, weight, state);
    } else if constexpr (std::is_integral_v<Label>) {
      SparseCategoricalAccuracy{}.update(prediction, target, size, weight, state);
    } else {
      CategoricalAccuracy{}.update(prediction, target, size, weight, state);
    }
  }

  double result(double const* state) const { return MeanState::mean(state); }
};

namespace metrics {
using trireme::Accuracy;
}

}  // namespace trireme
