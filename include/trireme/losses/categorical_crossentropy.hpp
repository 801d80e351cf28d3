/// CategoricalCrossentropy: minus the mean, under the target's distribution, of the logarithm of the prediction.
#pragma once

#include <cstddef>

#include <Kokkos_MathematicalFunctions.hpp>

#include "trireme/activations/softmax.hpp"
#include "trireme/backend/simd/math.hpp"
#include "trireme/core/config.hpp"
#include "trireme/core/fixed_string.hpp"
#include "trireme/losses/probability.hpp"
#include "trireme/losses/targets.hpp"

namespace trireme {

/// Categorical cross-entropy of a position: -sum_i y_i log(p_i).
///
/// Prediction and target (rows, …, classes), the target a distribution over the classes; one value a position, in nats.
/// With `from_logits` p = softmax(prediction), without overflow; otherwise p is the prediction over its sum, clipped to
/// [1e-7, 1 - 1e-7]. Smoothing replaces y by y (1 - label_smoothing) + label_smoothing / classes. The formula is that
/// of Keras's CategoricalCrossentropy. A model whose position has one output does not compile: "CategoricalCrossentropy
/// needs one output for each class".
/// \throws ValueError from compile, if label_smoothing is outside of [0, 1].
struct CategoricalCrossentropy {
  static constexpr FixedString name = "categorical_crossentropy";
  using target = DenseTarget;
  using link = Softmax;  ///< a model that ends in it is trained on its argument

  bool from_logits = false;    ///< predictions are unnormalised logarithms
  double label_smoothing = 0;  ///< this part of the target is spread evenly over all classes

  void config(Config& c) const {
    c("from_logits", from_logits);
    c("label_smoothing", label_smoothing, intervals::fraction);
  }

  template <class OutputExtents>
  static constexpr bool fits = !is_single<OutputExtents>;

  template <class OutputExtents>
  static consteval bool require_fit() {
    static_assert(fits<OutputExtents>,
                  "trireme: CategoricalCrossentropy needs one output for each class; for two classes and one output "
                  "take BinaryCrossentropy");
    return true;
  }

  template <class T>
  KOKKOS_FUNCTION T operator()(T const* prediction, T const* truth, std::size_t size, T scale, T* gradient) const {
    T const keep = static_cast<T>(1 - label_smoothing);
    T const add = static_cast<T>(label_smoothing) / static_cast<T>(size);
    return from_logits ? of_logits(prediction, truth, size, keep, add, scale, gradient)
                       : of_probabilities(prediction, truth, size, keep, add, scale, gradient);
  }

 private:
  template <class T>
  static KOKKOS_FUNCTION T of_logits(T const* x, T const* truth, std::size_t size, T keep, T add, T scale,
                                     T* gradient) {
    T const largest = largest_of(x, size);
    T sum = 0, mass = 0, dot = 0;
    for (std::size_t i = 0; i < size; ++i) {
      T const shifted = x[i] - largest;
      T const z = truth[i] * keep + add;
      T const e = math::exp(shifted);
      sum += e;
      mass += z;
      dot += z * shifted;
      if (gradient != nullptr) gradient[i] = e;
    }
    if (gradient != nullptr) {
      T const factor = mass / sum;
      for (std::size_t i = 0; i < size; ++i) gradient[i] = scale * (factor * gradient[i] - (truth[i] * keep + add));
    }
    return mass * Kokkos::log(sum) - dot;
  }

  /// The prediction is divided by its sum, and clipped then.
  template <class T>
  static KOKKOS_FUNCTION T of_probabilities(T const* p, T const* truth, std::size_t size, T keep, T add, T scale,
                                            T* gradient) {
    T sum = 0;
    for (std::size_t i = 0; i < size; ++i) sum += p[i];
    T const factor = T(1) / sum;
    T value = 0, free_mass = 0;
    for (std::size_t i = 0; i < size; ++i) {
      T const q = p[i] * factor;
      T const z = truth[i] * keep + add;
      value -= z * Kokkos::log(clip_probability(q));
      free_mass += is_free_probability(q) ? z : T(0);
    }
    if (gradient != nullptr) {
      T const slope = scale * factor;
      for (std::size_t i = 0; i < size; ++i) {
        T const q = p[i] * factor;
        T const own = is_free_probability(q) ? (truth[i] * keep + add) / q : T(0);
        gradient[i] = slope * (free_mass - own);
      }
    }
    return value;
  }
};

}  // namespace trireme
