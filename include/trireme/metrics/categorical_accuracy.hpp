/// CategoricalAccuracy: how often the class with the largest prediction is the one with the largest target.
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

/// Categorical accuracy: the fraction of positions whose largest prediction is at the largest target, in 0..1.
///
/// Prediction and target (rows, …, classes); of equal numbers the first counts. The definition is that of Keras's
/// CategoricalAccuracy. With a loss on class indices it does not compile: "CategoricalAccuracy needs a target for each
/// class".
struct CategoricalAccuracy {
  static constexpr FixedString name = "categorical_accuracy";
  static constexpr Direction direction = Direction::up;
  static constexpr std::size_t state_size = MeanState::size;

  template <class Target, class OutputExtents>
  static constexpr bool fits = std::is_same_v<Target, DenseTarget>;

  template <class Target, class OutputExtents>
  static consteval bool require_fit() {
    static_assert(fits<Target, OutputExtents>,
                  "trireme: CategoricalAccuracy needs a target for each class, but this loss takes class indices; take "
                  "SparseCategoricalAccuracy or Accuracy");
    return true;
  }

  template <class T, class Label>
  KOKKOS_FUNCTION void update(T const* prediction, Label const* target, std::size_t size, double weight,
                              double* state) const {
    bool const right = arg_max(prediction, size) == arg_max(target, size);
    MeanState::add(right ? 1 : 0, 1, weight, state);
  }

  double result(double const* state) const { return MeanState::mean(state); }
};

namespace metrics {
using trireme::CategoricalAccuracy;
}

}  // namespace trireme
