/// SparseCategoricalAccuracy: how often the class with the largest prediction is the right one.
#pragma once

#include <cstddef>
#include <type_traits>

#include <Kokkos_Macros.hpp>

#include "trireme/core/fixed_string.hpp"
#include "trireme/losses/targets.hpp"
#include "trireme/metrics/arg_max.hpp"
#include "trireme/metrics/direction.hpp"
#include "trireme/metrics/mean_state.hpp"

namespace trireme {

/// Categorical accuracy for class indices: the fraction of positions whose largest prediction is the right class, in
/// 0..1.
///
/// Prediction (rows, …, classes), target (rows, …) of class indices; of equal predictions the first counts. The
/// definition is that of Keras's SparseCategoricalAccuracy. With a loss that takes a target for each output it does not
/// compile: "SparseCategoricalAccuracy needs class indices".
struct SparseCategoricalAccuracy {
  static constexpr FixedString name = "sparse_categorical_accuracy";
  static constexpr Direction direction = Direction::up;
  static constexpr std::size_t state_size = MeanState::size;

  template <class Target, class OutputExtents>
  static constexpr bool fits = std::is_same_v<Target, ClassIndex>;

  template <class Target, class OutputExtents>
  static consteval bool require_fit() {
    static_assert(fits<Target, OutputExtents>,
                  "trireme: SparseCategoricalAccuracy needs class indices, but this loss takes a target for each "
                  "output; take CategoricalAccuracy or Accuracy");
    return true;
  }

  template <class T, class Label>
  KOKKOS_FUNCTION void update(T const* prediction, Label const* target, std::size_t size, double weight,
                              double* state) const {
    bool const right = static_cast<Label>(arg_max(prediction, size)) == target[0];
    MeanState::add(right ? 1 : 0, 1, weight, state);
  }

  double result(double const* state) const { return MeanState::mean(state); }
};

namespace metrics {
using trireme::SparseCategoricalAccuracy;
}

}  // namespace trireme
