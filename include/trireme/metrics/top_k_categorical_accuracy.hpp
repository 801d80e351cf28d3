/// TopKCategoricalAccuracy: how often the class with the largest target is among the k largest predictions.
#pragma once

#include <cstddef>
#include <type_traits>

#include <Kokkos_Macros.hpp>

#include "trireme/core/config.hpp"
#include "trireme/core/fixed_string.hpp"
#include "trireme/losses/targets.hpp"
#include "trireme/metrics/arg_max.hpp"
#include "trireme/metrics/direction.hpp"
#include "trireme/metrics/mean_state.hpp"

namespace trireme {

/// Top-k accuracy: the fraction of positions whose class of the largest target is among the k largest predictions.
///
/// Prediction and target (rows, …, classes); the value is in 0..1. A tie with the k-th largest is inside; a position
/// with a prediction that is not finite is not. The definition is that of Keras's TopKCategoricalAccuracy. With a loss
/// on class indices it does not compile: "TopKCategoricalAccuracy needs a target for each class".
/// \throws ValueError from compile, if k is 0.
struct TopKCategoricalAccuracy {
  static constexpr FixedString name = "top_k_categorical_accuracy";
  static constexpr Direction direction = Direction::up;
  static constexpr std::size_t state_size = MeanState::size;

  std::size_t k = 5;

  void config(Config& c) const { c("k", k, intervals::positive_count); }

  template <class Target, class OutputExtents>
  static constexpr bool fits = std::is_same_v<Target, DenseTarget>;

  template <class Target, class OutputExtents>
  static consteval bool require_fit() {
    static_assert(fits<Target, OutputExtents>,
                  "trireme: TopKCategoricalAccuracy needs a target for each class, but this loss takes class indices; "
                  "take SparseTopKCategoricalAccuracy");
    return true;
  }

  template <class T, class Label>
  KOKKOS_FUNCTION void update(T const* prediction, Label const* target, std::size_t size, double weight,
                              double* state) const {
    bool const inside = is_in_top_k(prediction, size, arg_max(target, size), k);
    MeanState::add(inside ? 1 : 0, 1, weight, state);
  }

  double result(double const* state) const { return MeanState::mean(state); }
};

namespace metrics {
using trireme::TopKCategoricalAccuracy;
}

}  // namespace trireme
