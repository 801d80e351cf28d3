/// Kernels of normalization over the rows of a batch. Sums are in double: a batch has many rows.
#pragma once

#include <cstddef>

#include <Kokkos_MathematicalFunctions.hpp>

namespace trireme::kernels {

/// Position of feature j of row `row` if features are the last axis; a row is one position.
struct LastAxis {
  std::size_t features;
  KOKKOS_FUNCTION std::size_t operator()(std::size_t row, std::size_t j) const { return row * features + j; }
};
/// The same if `inner` numbers lie beside each other for each feature, which are rows then.
struct EarlierAxis {
  std::size_t features, inner;
  KOKKOS_FUNCTION std::size_t operator()(std::size_t row, std::size_t j) const {
    return (row / inner * features + j) * inner + row % inner;
  }
};

template <class T, class At>
struct Values {
  T const* x;
  At place;
  KOKKOS_FUNCTION double operator()(std::size_t row, std::size_t j) const {
    return static_cast<double>(x[place(row, j)]);
  }
};

template <class T, class At>
struct Squares {
  T const* x;
  T const* mean;
  At place;
  KOKKOS_FUNCTION double operator()(std::size_t row, std::size_t j) const {
    double const difference = static_cast<double>(x[place(row, j)] - mean[j]);
    return difference * difference;
  }
};

/// dy * normalized x.
template <class T, class At>
struct Products {
  T const* dy;
  T const* x;
  T const* mean;
  T const* inverse;
  At place;
  KOKKOS_FUNCTION double operator()(std::size_t row, std::size_t j) const {
    std::size_t const at = place(row, j);
    return static_cast<double>(dy[at] * ((x[at] - mean[j]) * inverse[j]));
  }
};

struct SetCount {
  double* count;
  double value;
  KOKKOS_FUNCTION void operator()(std::size_t) const { *count = value; }
};

template <class T>
struct FromDouble {
  double const* from;
  T* to;
  KOKKOS_FUNCTION void operator()(std::size_t i) const { to[i] = static_cast<T>(from[i]); }
};

/// Means of the scope's rows; 0 where it has none.
template <class T>
struct BatchMean {
  double const* sums;
  double const* count;
  T* mean;
  KOKKOS_FUNCTION void operator()(std::size_t j) const {
    mean[j] = *count > 0 ? static_cast<T>(sums[j] / *count) : T{0};
  }
};

/// Variances of the scope's rows, and this slice's part of the moving statistics' new values.
template <class T>
struct BatchVariance {
  double const* sums;
  double const* count;
  T const* mean;
  T* inverse;
  T* mean_update;      ///< null: not needed
  T* variance_update;  ///< null: not needed
  T epsilon, share;
  KOKKOS_FUNCTION void operator()(std::size_t j) const {
    T const variance = *count > 0 ? static_cast<T>(sums[j] / *count) : T{0};
    inverse[j] = T{1} / Kokkos::sqrt(variance + epsilon);
    if (mean_update) mean_update[j] = share * mean[j];
    if (variance_update) variance_update[j] = share * variance;
  }
};

template <class T>
struct MovingStatistics {
  T const* moving_mean;
  T const* moving_variance;
  T* mean;
  T* inverse;
  T epsilon;
  KOKKOS_FUNCTION void operator()(std::size_t j) const {
    mean[j] = moving_mean[j];
    inverse[j] = T{1} / Kokkos::sqrt(moving_variance[j] + epsilon);
  }
};

template <class T, class At>
struct NormalizeColumns {
  T const* x;
  T const* mean;
  T const* inverse;
  T const* gamma;  ///< null: 1
  T const* beta;   ///< null: 0
  T* y;
  At place;
  KOKKOS_FUNCTION void operator()(std::size_t row, std::size_t j) const {
    std::size_t const at = place(row, j);
    T const value = (x[at] - mean[j]) * inverse[j];
    y[at] = (gamma ? value * gamma[j] : value) + (beta ? beta[j] : T{0});
  }
};

/// dx = gamma / deviation * dy: where the statistics are given.
template <class T, class At>
struct ScaleColumns {
  T const* dy;
  T const* inverse;
  T const* gamma;  ///< null: 1
  T* dx;
  At place;
  KOKKOS_FUNCTION void operator()(std::size_t row, std::size_t j) const {
    std::size_t const at = place(row, j);
    dx[at] = dy[at] * (gamma ? gamma[j] * inverse[j] : inverse[j]);
  }
};

/// dx = gamma / deviation * (dy - mean(dy) - normalized * mean(dy normalized)), means over the scope's rows.
template <class T, class At>
struct NormalizeColumnsGradient {
  T const* dy;
  T const* x;
  T const* mean;
  T const* inverse;
  T const* gamma;  ///< null: 1
  double const* products;
  double const* sums;
  double const* count;
  T* dx;
  At place;
  KOKKOS_FUNCTION void operator()(std::size_t row, std::size_t j) const {
    std::size_t const at = place(row, j);
    T const normalized = (x[at] - mean[j]) * inverse[j];
    T const factor = gamma ? gamma[j] * inverse[j] : inverse[j];
    dx[at] = factor * (dy[at] - static_cast<T>(sums[j] / *count) - normalized * static_cast<T>(products[j] / *count));
  }
};

}  // namespace trireme::kernels
