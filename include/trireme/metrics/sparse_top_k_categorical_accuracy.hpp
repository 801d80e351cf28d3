/// SparseTopKCategoricalAccuracy: how often the right class is among the k largest predictions.
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

/// Top-k accuracy for class indices: the fraction of positions whose right class is among the k largest predictions.
///
/// Prediction (rows, …, classes), target (rows, …) of class indices; the value is in 0..1. A tie with the k-th largest
/// is inside; a position with a prediction that is not finite is not. The definition is that of Keras's
/// SparseTopKCategoricalAccuracy. With a loss that takes a target for each output it does not compile:
/// "SparseTopKCategoricalAccuracy needs class indices".
/// \throws ValueError from compile, if k is 0.
struct SparseTopKCategoricalAccuracy {
  static constexpr FixedString name = "sparse_top_k_categorical_accuracy";
  static constexpr Direction direction = Direction::up;
  static constexpr std::size_t state_size = MeanState::size;

  std::size_t k = 5;

  void config(Config& c) const { c("k", k, intervals::positive_count); }

  template <class Target, class OutputExtents>
  static constexpr bool fits = std::is_same_v<Target, ClassIndex>;

  template <class Target, class OutputExtents>
  static consteval bool require_fit() {
    static_assert(fits<Target, OutputExtents>,
                  "trireme: SparseTopKCategoricalAccuracy needs class indices, but this loss takes a target for each "
                  "output; take TopKCategoricalAccuracy");
    return true;
  }

  template <class T, class Label>
  KOKKOS_FUNCTION void update(T const* prediction, Label const* target, std::size_t size, double weight,
                              double* state) const {
    // A negative label becomes a very large index, which is in no top k.
    bool const inside = is_in_top_k(prediction, size, static_cast<std::size_t>(target[0]), k);
    MeanState::add(inside ? 1 : 0, 1, weight, state);
  }

  double result(double const* state) const { return MeanState::mean(state); }
};

namespace metrics {
using trireme::SparseTopKCategoricalAccuracy;
}

}  // namespace trireme
