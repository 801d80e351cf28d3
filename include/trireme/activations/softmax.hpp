/// Softmax: a row of positive numbers whose sum is 1, exp(x_i) / sum_j exp(x_j).
#pragma once

#include <cstddef>

#include <Kokkos_MathematicalFunctions.hpp>

#include "trireme/backend/simd/math.hpp"
#include "trireme/core/fixed_string.hpp"

namespace trireme {

/// Softmax over the last axis: y_i = exp(x_i) / sum_j exp(x_j), without overflow.
///
/// Input and output (rows, …, classes); each position's outputs are in [0, 1], and their sum is 1. In front of a
/// categorical cross-entropy a model is trained on x. LSTM and GRU do not take it: "an activation of LSTM is
/// elementwise, with a derivative that follows from its output". The formula is that of Keras's softmax with axis -1.
struct Softmax {
  static constexpr FixedString name = "softmax";
  static constexpr bool elementwise = false;

  /// One row of n numbers, n at least 1. y may be x.
  template <class T, class Lanes>
  KOKKOS_FUNCTION void forward(Lanes const& lanes, T const* x, std::size_t n, T* y) const {
    T const largest = lanes.template max<T>(n, [&](std::size_t i) { return x[i]; });
    T const sum = lanes.template sum<T>(n, [&](std::size_t i) { return y[i] = math::exp(x[i] - largest); });
    T const factor = T(1) / sum;
    lanes.for_each(n, [&](std::size_t i) { y[i] *= factor; });
  }

  /// dx_i = y_i (dy_i - sum_j y_j dy_j). dx may be dy.
  template <class T, class Lanes>
  KOKKOS_FUNCTION void backward(Lanes const& lanes, T const* y, T const* dy, std::size_t n, T* dx) const {
    T const dot = lanes.template sum<T>(n, [&](std::size_t i) { return y[i] * dy[i]; });
    lanes.for_each(n, [&](std::size_t i) { dx[i] = y[i] * (dy[i] - dot); });
  }
};

}  // namespace trireme
