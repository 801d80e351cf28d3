/// The state of a metric that is a weighted mean: two sums, which replicas and ranks add.
#pragma once

#include <cstddef>

#include <Kokkos_Macros.hpp>

namespace trireme {

/// The state of a metric that is a weighted mean: (2) doubles, the weighted sum and the sum of weights.
///
/// States of batches, replicas and processes are added; not collective.
struct MeanState {
  static constexpr std::size_t size = 2;

  /// Adds `count` values whose sum is `sum`, each with this weight.
  static KOKKOS_FUNCTION void add(double sum, double count, double weight, double* state) {
    state[0] += weight * sum;
    state[1] += weight * count;
  }

  /// 0 over nothing, as in Keras.
  static double mean(double const* state) { return state[1] == 0 ? 0 : state[0] / state[1]; }
};

}  // namespace trireme
