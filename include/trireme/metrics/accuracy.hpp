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

/// Keras's metric "accuracy": one output is binary (above 0.5), several are compared by their largest: with the class
/// index where the loss takes one, otherwise with the largest target.
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
