/// Softmax: a row of positive numbers whose sum is 1, exp(x_i) / sum_j exp(x_j).
#pragma once

#include <cstddef>

#include <Kokkos_MathematicalFunctions.hpp>

#include "trireme/backend/simd/math.hpp"
#include "trireme/core/fixed_string.hpp"

namespace trireme {

struct Softmax {
  static constexpr FixedString name = "softmax";
  static constexpr bool elementwise = false;

  /// One row of n numbers, n at least 1. y may be x.
  template <class T>
  KOKKOS_FUNCTION void forward(T const* x, std::size_t n, T* y) const {
    T largest = x[0];
    for (std::size_t i = 1; i < n; ++i) largest = x[i] > largest ? x[i] : largest;
    T sum = 0;
    for (std::size_t i = 0; i < n; ++i) {
      y[i] = math::exp(x[i] - largest);
      sum += y[i];
    }
    T const factor = T(1) / sum;
    for (std::size_t i = 0; i < n; ++i) y[i] *= factor;
  }

  /// dx_i = y_i (dy_i - sum_j y_j dy_j). dx may be dy.
  template <class T>
  KOKKOS_FUNCTION void backward(T const* y, T const* dy, std::size_t n, T* dx) const {
    T dot = 0;
    for (std::size_t i = 0; i < n; ++i) dot += y[i] * dy[i];
    for (std::size_t i = 0; i < n; ++i) dx[i] = y[i] * (dy[i] - dot);
  }
};

}  // namespace trireme
