/// Kernels of normalization along a row.
#pragma once

#include <cstddef>

#include <Kokkos_MathematicalFunctions.hpp>

#include "trireme/backend/simd/row_sum.hpp"

namespace trireme::kernels {

template <class T>
struct Difference {
  T const* x;
  T mean;
  KOKKOS_FUNCTION T operator()(std::size_t j) const { return (x[j] - mean) * (x[j] - mean); }
};
template <class T>
struct Element {
  T const* x;
  KOKKOS_FUNCTION T operator()(std::size_t j) const { return x[j]; }
};
template <class T>
struct ScaledElement {
  T const* x;
  T const* factor;  ///< null: 1
  KOKKOS_FUNCTION T operator()(std::size_t j) const { return factor ? x[j] * factor[j] : x[j]; }
};
template <class T>
struct ScaledProduct {
  T const* x;
  T const* factor;  ///< null: 1
  T const* other;
  KOKKOS_FUNCTION T operator()(std::size_t j) const { return (factor ? x[j] * factor[j] : x[j]) * other[j]; }
};

/// Normalizes one row to mean 0 and variance 1, and keeps what backward needs.
template <class T>
struct NormalizeRow {
  T const* x;
  T const* gamma;  ///< null: 1
  T const* beta;   ///< null: 0
  T* y;
  T* normalized;
  T* inverse;  ///< 1 / standard deviation, of each row
  std::size_t n;
  T epsilon;

  KOKKOS_FUNCTION void operator()(std::size_t row) const {
    T const* const from = x + row * n;
    T* const to = y + row * n;
    T* const kept = normalized + row * n;
    T const mean = row_sum<T>(n, Element<T>{from}) / static_cast<T>(n);
    T const variance = row_sum<T>(n, Difference<T>{from, mean}) / static_cast<T>(n);
    T const factor = T{1} / Kokkos::sqrt(variance + epsilon);
    inverse[row] = factor;
    for (std::size_t j = 0; j < n; ++j) {
      T const value = (from[j] - mean) * factor;
      kept[j] = value;
      to[j] = (gamma ? value * gamma[j] : value) + (beta ? beta[j] : T{0});
    }
  }
};

/// dx = (g - mean(g) - normalized mean(g normalized)) / standard deviation, where g = dy gamma.
template <class T>
struct NormalizeRowGradient {
  T const* dy;
  T const* gamma;
  T const* normalized;
  T const* inverse;
  T* dx;
  std::size_t n;

  KOKKOS_FUNCTION void operator()(std::size_t row) const {
    T const* const from = dy + row * n;
    T const* const kept = normalized + row * n;
    T* const to = dx + row * n;
    T const mean = row_sum<T>(n, ScaledElement<T>{from, gamma}) / static_cast<T>(n);
    T const slope = row_sum<T>(n, ScaledProduct<T>{from, gamma, kept}) / static_cast<T>(n);
    T const factor = inverse[row];
    for (std::size_t j = 0; j < n; ++j)
      to[j] = ((gamma ? from[j] * gamma[j] : from[j]) - mean - kept[j] * slope) * factor;
  }
};

/// y *= x.
template <class T>
struct Multiply {
  T const* x;
  T* y;
  KOKKOS_FUNCTION void operator()(std::size_t i) const { y[i] *= x[i]; }
};

}  // namespace trireme::kernels
