/// Kernels of normalization along a row.
#pragma once

#include <cstddef>

#include <Kokkos_MathematicalFunctions.hpp>

namespace trireme::kernels {

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

  template <class Lanes>
  KOKKOS_FUNCTION void operator()(std::size_t row, Lanes const& lanes) const {
    T const* const from = x + row * n;
    T* const to = y + row * n;
    T* const kept = normalized + row * n;
    T const mean = lanes.template row_sum<T>(n, [&](std::size_t j) { return from[j]; }) / static_cast<T>(n);
    auto const square = [&](std::size_t j) { return (from[j] - mean) * (from[j] - mean); };
    T const variance = lanes.template row_sum<T>(n, square) / static_cast<T>(n);
    T const factor = T{1} / Kokkos::sqrt(variance + epsilon);
    lanes.once([&] { inverse[row] = factor; });
    lanes.for_each(n, [&](std::size_t j) {
      T const value = (from[j] - mean) * factor;
      kept[j] = value;
      to[j] = (gamma ? value * gamma[j] : value) + (beta ? beta[j] : T{0});
    });
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

  template <class Lanes>
  KOKKOS_FUNCTION void operator()(std::size_t row, Lanes const& lanes) const {
    T const* const from = dy + row * n;
    T const* const kept = normalized + row * n;
    T* const to = dx + row * n;
    auto const scaled = [&](std::size_t j) { return gamma ? from[j] * gamma[j] : from[j]; };
    T const mean = lanes.template row_sum<T>(n, scaled) / static_cast<T>(n);
    auto const product = [&](std::size_t j) { return scaled(j) * kept[j]; };
    T const slope = lanes.template row_sum<T>(n, product) / static_cast<T>(n);
    T const factor = inverse[row];
    lanes.for_each(n, [&](std::size_t j) { to[j] = (scaled(j) - mean - kept[j] * slope) * factor; });
  }
};

/// A term of gamma's gradient.
template <class T>
struct GammaTerm {
  T const* dy;
  T const* normalized;
  std::size_t columns;
  KOKKOS_FUNCTION T operator()(std::size_t row, std::size_t j) const {
    return dy[row * columns + j] * normalized[row * columns + j];
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
