/// Kernels of an optimizer step: penalties, clipping, and the optimizer's own rule.
#pragma once

#include <cstddef>

#include <Kokkos_Macros.hpp>
#include <Kokkos_MathematicalFunctions.hpp>

#include "trireme/backend/simd.hpp"

namespace trireme::kernels {

inline constexpr std::size_t max_slots = 4;

template <class T, class Step>
struct OptimizerStep {
  Step step;
  T* parameters;
  T const* gradients;
  T* slots[max_slots];
  KOKKOS_FUNCTION void operator()(std::size_t i) const { step(i, parameters, gradients[i], slots); }

  /// The same step counted from element `begin`, whose gradient is the first of `values`.
  OptimizerStep from(std::size_t begin, T const* values) const {
    OptimizerStep part = *this;
    part.parameters += begin;
    part.gradients = values;
    for (T*& slot : part.slots)
      if (slot) slot += begin;
    return part;
  }
};

/// A step whose gradients come block by block, from element `begin` of the arena on.
template <class Step>
struct StepOfSums {
  Step step;
  template <class T>
  void operator()(std::size_t begin, std::size_t n, T const* gradients) const {
    Step const part = step.from(begin, gradients);
    TRIREME_SIMD
    for (std::size_t i = 0; i < n; ++i) part(i);
  }
};
template <class Step>
StepOfSums(Step) -> StepOfSums<Step>;

/// state = decay * state + (1 - decay) * mean.
template <class T>
struct MoveState {
  T* state;
  T const* mean;
  T decay;
  KOKKOS_FUNCTION void operator()(std::size_t i) const { state[i] = decay * state[i] + (T{1} - decay) * mean[i]; }
};

template <class T>
struct Penalty {
  static constexpr std::size_t width = 1;
  T const* w;
  double l1, l2;
  KOKKOS_FUNCTION void operator()(std::size_t i, double* sum) const {
    double const value = static_cast<double>(w[i]);
    sum[0] += l1 * Kokkos::abs(value) + l2 * value * value;
  }
};

template <class T>
struct PenaltyGradient {
  T const* w;
  T* gradient;
  T l1, l2;
  KOKKOS_FUNCTION void operator()(std::size_t i) const {
    T const sign = w[i] > T{0} ? T{1} : (w[i] < T{0} ? T{-1} : T{0});
    gradient[i] += l1 * sign + T{2} * l2 * w[i];
  }
};

template <class T>
struct ClipValue {
  T* gradient;
  T limit;
  KOKKOS_FUNCTION void operator()(std::size_t i) const {
    T const g = gradient[i];
    gradient[i] = g > limit ? limit : (g < -limit ? -limit : g);
  }
};

template <class T>
struct SquaredNorm {
  static constexpr std::size_t width = 1;
  T const* gradient;
  KOKKOS_FUNCTION void operator()(std::size_t i, double* sum) const {
    double const g = static_cast<double>(gradient[i]);
    sum[0] += g * g;
  }
};

/// Scales to the limit if the norm, whose square is in memory of the space, is above it.
template <class T>
struct ClipNorm {
  T* gradient;
  double const* squared_norm;
  double limit;
  KOKKOS_FUNCTION void operator()(std::size_t i) const {
    double const norm = Kokkos::sqrt(*squared_norm);
    if (norm > limit) gradient[i] *= static_cast<T>(limit / norm);
  }
};

}  // namespace trireme::kernels
