/// Kernels of an optimizer step: penalties, clipping, and the optimizer's own rule.
#pragma once

#include <cstddef>

#include <Kokkos_Macros.hpp>
#include <Kokkos_MathematicalFunctions.hpp>

#include "trireme/backend/simd/math.hpp"
#include "trireme/backend/simd/simd.hpp"
#include "trireme/backend/simd/simd_vector.hpp"

namespace trireme::kernels {

inline constexpr std::size_t max_slots = 4;

/// A rule in memory of the space, where recorded steps find that of the current one.
template <class Rule>
struct StoredRule {
  Rule const* stored;
  template <class T>
  KOKKOS_FUNCTION void operator()(std::size_t i, T* weights, T gradient, T* const* slots) const {
    (*stored)(i, weights, gradient, slots);
  }
  template <class T>
  KOKKOS_FUNCTION void add(std::size_t i, T const* weights, T gradient, T* const* slots, double* sums) const {
    stored->add(i, weights, gradient, slots, sums);
  }
  KOKKOS_FUNCTION auto of_tensor(double const* sums) const { return stored->of_tensor(sums); }
};

template <class T, class Step>
struct OptimizerStep {
  Step step;
  T* parameters;
  T const* gradients;
  T* slots[max_slots];
  std::size_t first = 0;  ///< element that the slots begin at
  KOKKOS_FUNCTION void operator()(std::size_t i) const { step(i, parameters, gradients[i], slots); }

  /// The same for [begin, end) on a host, by vectors if the step takes them; an element's bits do not depend on its
  /// position. A step uses its argument `i` for its pointers alone.
  void elements(std::size_t begin, std::size_t end) const {
    if constexpr (requires { step.stored; }) {
      with(*step.stored).elements(begin, end);
    } else if constexpr (by_vectors) {
      std::size_t const whole = end - (end - begin) % Vector::lanes;
      Pointer at[max_slots];
      for (std::size_t s = 0; s < max_slots; ++s) at[s] = {slots[s]};
      vectors(step, begin, whole, {parameters}, gradients, at);
      if (whole < end) rest(whole, end - whole);
    } else {
      Step const own = step;  // a copy, whose members the stores cannot alias
      T* const at[max_slots] = {slots[0], slots[1], slots[2], slots[3]};
      TRIREME_SIMD
      for (std::size_t i = begin; i < end; ++i) own(i, parameters, gradients[i], at);
    }
  }

  /// Another rule for the same elements.
  template <class Other>
  OptimizerStep<T, Other> with(Other const& other) const {
    return {other, parameters, gradients, {slots[0], slots[1], slots[2], slots[3]}, first};
  }

  /// The same step counted from element `begin`, whose gradient is the first of `values`. Any other call is for slots
  /// that begin where the parameters do.
  OptimizerStep from(std::size_t begin, T const* values) const {
    OptimizerStep part = *this;
    part.parameters += begin;
    part.gradients = values;
    for (T*& slot : part.slots)
      if (slot) slot += begin - first;
    part.first = 0;
    return part;
  }

 private:
  using Vector = detail::SimdVector<T>;
  using Pointer = detail::VectorPointer<T>;
#if defined(__CUDACC__)  // whose host pass does not know comparisons of vectors
  static constexpr bool by_vectors = false;
#else
  static constexpr bool by_vectors = requires { requires Step::takes_vectors; };
#endif

  /// Not inlined, so that all elements go through the same instructions: GCC decides for each copy of a step which
  /// products and sums it rounds once.
  [[gnu::noinline]] static void vectors(Step const& step, std::size_t begin, std::size_t end, Pointer weights,
                                        T const* gradients, Pointer const* slots) {
    Step const own = step;  // a copy, whose members the stores cannot alias
    Pointer at[max_slots];
    for (std::size_t s = 0; s < max_slots; ++s) at[s] = slots[s];
    for (std::size_t i = begin; i < end; i += Vector::lanes) own(i, weights, Vector::load(gradients + i), at);
  }

  /// Fewer elements than a vector has, in one that is filled up with copies of the last.
  void rest(std::size_t begin, std::size_t n) const {
    T values[2 + max_slots][Vector::lanes];
    auto const fill = [&](T* to, T const* from) {
      for (std::size_t k = 0; k < Vector::lanes; ++k) to[k] = from[begin + (k < n ? k : n - 1)];
    };
    auto const take = [&](T* to, T const* from) { Vector::store(to + begin, Vector::load(from), n); };
    T *const weights = values[max_slots], *const own_gradients = values[max_slots + 1];
    fill(weights, parameters);
    fill(own_gradients, gradients);
    Pointer at[max_slots];
    for (std::size_t s = 0; s < max_slots; ++s) {
      at[s] = {values[s]};
      if (slots[s]) fill(values[s], slots[s]);
    }
    vectors(step, 0, Vector::lanes, {weights}, own_gradients, at);
    take(parameters, weights);
    for (std::size_t s = 0; s < max_slots; ++s)
      if (slots[s]) take(slots[s], values[s]);
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

/// Sums over a tensor that its rule asks for, before the step.
template <class T, class Rule, std::size_t Width>
struct TensorSums {
  static constexpr std::size_t width = Width;
  OptimizerStep<T, Rule> of;
  KOKKOS_FUNCTION void operator()(std::size_t i, double* sums) const {
    of.step.add(i, of.parameters, of.gradients[i], of.slots, sums);
  }
};

/// The step of a tensor, whose sums are in memory of the space.
template <class T, class Rule>
struct TensorStep {
  OptimizerStep<T, Rule> of;
  double const* sums;
  KOKKOS_FUNCTION void operator()(std::size_t i) const {
    of.step.of_tensor(sums)(i, of.parameters, of.gradients[i], of.slots);
  }
  void elements(std::size_t begin, std::size_t end) const { of.with(of.step.of_tensor(sums)).elements(begin, end); }
};

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

struct AddNumber {
  double* sum;
  double number;
  KOKKOS_FUNCTION void operator()(std::size_t) const { *sum += number; }
};

template <class T>
struct PenaltyGradient {
  T const* w;
  T* gradient;
  T l1, l2;
  KOKKOS_FUNCTION void operator()(std::size_t i) const {
    T const sign = math::select(w[i] > T{0}, T{1}, math::select(w[i] < T{0}, T{-1}, T{0}));
    gradient[i] += l1 * sign + T{2} * l2 * w[i];
  }
};

template <class T>
struct ClipValue {
  T* gradient;
  T limit;
  KOKKOS_FUNCTION void operator()(std::size_t i) const {
    T const g = gradient[i];
    gradient[i] = math::select(g > limit, limit, math::select(g < -limit, -limit, g));
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

/// Scales to the limit if the norm exceeds it; the norm's square is in memory of the space. A norm that is NaN makes
/// all NaN, and so does an infinite one of all tensors, as in Keras.
template <class T>
struct ClipNorm {
  T* gradient;
  double const* squared_norm;
  double limit;
  bool of_all_tensors;
  KOKKOS_FUNCTION void operator()(std::size_t i) const {
    if (auto const factor = scale(); factor != T{1}) gradient[i] *= factor;
  }
  void elements(std::size_t begin, std::size_t end) const {
    T const factor = scale();
    if (factor == T{1}) return;
    T* const scaled = gradient;
    TRIREME_SIMD
    for (std::size_t i = begin; i < end; ++i) scaled[i] *= factor;
  }

 private:
  KOKKOS_FUNCTION T scale() const {
    double const norm = Kokkos::sqrt(*squared_norm);
    if (norm <= limit) return T{1};
    return static_cast<T>(limit / norm + (of_all_tensors ? norm - norm : 0));
  }
};

}  // namespace trireme::kernels
