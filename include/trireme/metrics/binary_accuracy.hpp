/// BinaryAccuracy: how many outputs are on the right side of the threshold.
#pragma once

#include <cstddef>
#include <type_traits>

#include <Kokkos_Macros.hpp>

#include "trireme/core/config.hpp"
#include "trireme/core/fixed_string.hpp"
#include "trireme/losses/targets.hpp"
#include "trireme/metrics/direction.hpp"
#include "trireme/metrics/mean_state.hpp"

namespace trireme {

/// Binary accuracy: the fraction of outputs on the right side of the threshold, in 0..1.
///
/// Prediction and target (rows, …, outputs), the target 0 or 1: the answer is 1 where the prediction is above
/// `threshold`, else 0, and right if it equals the target. The definition is that of Keras's BinaryAccuracy. With class
/// indices for several outputs it does not compile: "BinaryAccuracy compares each output with its own target".
/// \throws ValueError from compile, if threshold is not finite.
struct BinaryAccuracy {
  static constexpr FixedString name = "binary_accuracy";
  static constexpr Direction direction = Direction::up;
  static constexpr std::size_t state_size = MeanState::size;

  double threshold = 0.5;  ///< a prediction above it is a yes

  void config(Config& c) const { c("threshold", threshold, intervals::finite); }

  template <class Target, class OutputExtents>
  static constexpr bool fits = std::is_same_v<Target, DenseTarget> || is_single<OutputExtents>;

  template <class Target, class OutputExtents>
  static consteval bool require_fit() {
    static_assert(fits<Target, OutputExtents>,
                  "trireme: BinaryAccuracy compares each output with its own target, but this loss takes one class "
                  "index for several outputs; take SparseCategoricalAccuracy or Accuracy");
    return true;
  }

  template <class T, class Label>
  KOKKOS_FUNCTION void update(T const* prediction, Label const* target, std::size_t size, double weight,
                              double* state) const {
    std::size_t right = 0;
    for (std::size_t i = 0; i < size; ++i) {
      Label const answer = prediction[i] > static_cast<T>(threshold) ? Label(1) : Label(0);
      right += target[i] == answer ? 1 : 0;
    }
    MeanState::add(static_cast<double>(right), static_cast<double>(size), weight, state);
  }

  double result(double const* state) const { return MeanState::mean(state); }
};

namespace metrics {
using trireme::BinaryAccuracy;
}

}  // namespace trireme
