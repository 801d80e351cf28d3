/// Kernels of an optimizer step: penalties, clipping, and the optimizer's own rule.
#pragma once

#include <cstddef>
#include <type_traits>

#include <Kokkos_Macros.hpp>
#include <Kokkos_MathematicalFunctions.hpp>

#include "trireme/backend/math.hpp"
#include "trireme/backend/simd.hpp"
#include "trireme/backend/simd_vector.hpp"

namespace trireme::kernels {

inline constexpr std::size_t max_slots = 4;

template <class T, class Step>
struct OptimizerStep {
  Step step;
  T* parameters;
  T const* gradients;
  T* slots[max_slots];
  KOKKOS_FUNCTION void operator()(std::size_t i) const { step(i, parameters, gradients[i], slots); }

  /// The same for [begin, end) on a host; by vectors if the step takes them, the last ones in a vector of their own, so
  /// that an element's bits do not depend on where it stands.
  void elements(std::size_t begin, std::size_t end) const {
    Step const own = step;  // what the loop writes cannot be its members
    if constexpr (takes_vectors) {
      Pointer at[max_slots];
      for (std::size_t s = 0; s < max_slots; ++s) at[s] = {slots[s]};
      std::size_t i = begin;
      for (; i + Vector::lanes <= end; i += Vector::lanes) own(i, Pointer{parameters}, Vector::load(gradients + i), at);
      if (i < end) rest(i, end - i);
    } else {
      T* const at[max_slots] = {slots[0], slots[1], slots[2], slots[3]};
      TRIREME_SIMD
      for (std::size_t i = begin; i < end; ++i) own(i, parameters, gradients[i], at);
    }
  }

  /// The same step counted from element `begin`, whose gradient is the first of `values`.
  OptimizerStep from(std::size_t begin, T const* values) const {
    OptimizerStep part = *this;
    part.parameters += begin;
    part.gradients = values;
    for (T*& slot : part.slots)
      if (slot) slot += begin;
    return part;
  }

 private:
  using Vector = detail::SimdVector<T>;
  using Pointer = detail::VectorPointer<T>;
#if defined(__CUDACC__)  // whose host pass does not know comparisons of vectors
  static constexpr bool takes_vectors = false;
#else
  static constexpr bool takes_vectors =
      std::is_invocable_v<Step const&, std::size_t, Pointer, typename Vector::type, Pointer const*>;
#endif

  void rest(std::size_t begin, std::size_t n) const {
    T values[1 + max_slots][Vector::lanes] = {};
    Pointer at[max_slots];
    Vector::store(values[max_slots], Vector::load(parameters + begin, n));
    for (std::size_t s = 0; s < max_slots; ++s) {
      at[s] = {values[s]};
      if (slots[s]) Vector::store(values[s], Vector::load(slots[s] + begin, n));
    }
    step(0, Pointer{values[max_slots]}, Vector::load(gradients + begin, n), at);
    Vector::store(parameters + begin, Vector::load(values[max_slots]), n);
    for (std::size_t s = 0; s < max_slots; ++s)
      if (slots[s]) Vector::store(slots[s] + begin, Vector::load(values[s]), n);
  }
};

/// A step whose gradients come block by block, from element `begin` of the arena on.
template <class Step>
struct StepOfSums {
  Step step;
  template <class T>
  void operator()(std::size_t begin, std::size_t n, T const* gradients) const {
    step.from(begin, gradients).elements(0, n);
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
    T const sign = math::choose(w[i] > T{0}, T{1}, math::choose(w[i] < T{0}, T{-1}, T{0}));
    gradient[i] += l1 * sign + T{2} * l2 * w[i];
  }
};

template <class T>
struct ClipValue {
  T* gradient;
  T limit;
  KOKKOS_FUNCTION void operator()(std::size_t i) const {
    T const g = gradient[i];
    gradient[i] = math::choose(g > limit, limit, math::choose(g < -limit, -limit, g));
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
