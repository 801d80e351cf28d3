/// CategoricalFocalCrossentropy: categorical cross-entropy in which well predicted positions weigh less.
/// Source: Lin, Goyal, Girshick, He, Dollar, "Focal loss for dense object detection", arXiv:1708.02002.
#pragma once

#include <cstddef>

#include <Kokkos_MathematicalFunctions.hpp>

#include "trireme/backend/simd/math.hpp"
#include "trireme/core/config.hpp"
#include "trireme/core/fixed_string.hpp"
#include "trireme/losses/probability.hpp"
#include "trireme/losses/targets.hpp"

namespace trireme {

/// Categorical focal cross-entropy of a position: -sum_i alpha (1 - p_i)^gamma y_i log(p_i).
///
/// Prediction and target (rows, …, classes), the target a distribution over the classes; one value a position, in nats.
/// With `from_logits` p = softmax(prediction), otherwise the prediction over its sum; both are clipped to [1e-7, 1 -
/// 1e-7]. Smoothing is that of CategoricalCrossentropy. Source: Lin et al., arXiv:1708.02002, as Keras's
/// CategoricalFocalCrossentropy. A model whose position has one output does not compile: "CategoricalFocalCrossentropy
/// needs one output for each class". Designated initializers name the members in this order.
/// \throws ValueError from compile, if label_smoothing is outside of [0, 1], or alpha or gamma is negative or infinite.
struct CategoricalFocalCrossentropy {
  static constexpr FixedString name = "categorical_focal_crossentropy";
  using target = DenseTarget;

  double alpha = 0.25;         ///< weight of the whole
  double gamma = 2;            ///< power of 1 - probability
  bool from_logits = false;    ///< predictions are unnormalised logarithms
  double label_smoothing = 0;  ///< this part of the target is spread evenly over all classes

  void config(Config& c) const {
    c("alpha", alpha, intervals::not_negative);
    c("gamma", gamma, intervals::not_negative);
    c("from_logits", from_logits);
    c("label_smoothing", label_smoothing, intervals::fraction);
  }

  template <class OutputExtents>
  static constexpr bool fits = !is_single<OutputExtents>;

  template <class OutputExtents>
  static consteval bool require_fit() {
    static_assert(fits<OutputExtents>,
                  "trireme: CategoricalFocalCrossentropy needs one output for each class; for two classes and one "
                  "output take BinaryFocalCrossentropy");
    return true;
  }

  template <class T>
  KOKKOS_FUNCTION T operator()(T const* prediction, T const* truth, std::size_t size, T scale, T* gradient) const {
    T const keep = static_cast<T>(1 - label_smoothing);
    T const add = static_cast<T>(label_smoothing) / static_cast<T>(size);
    // A class has probability exp(x - shift) or p * factor.
    T const shift = from_logits ? log_sum_exp(prediction, size) : T(0);
    T sum = 0;
    for (std::size_t i = 0; i < size; ++i) sum += prediction[i];
    T const factor = T(1) / sum;
    T value = 0, mean_slope = 0;
    for (std::size_t i = 0; i < size; ++i) {
      T const q = from_logits ? math::exp(prediction[i] - shift) : prediction[i] * factor;
      T derivative = 0;
      value += of_class(q, truth[i] * keep + add, derivative);
      mean_slope += q * derivative;
    }
    if (gradient != nullptr) {
      for (std::size_t i = 0; i < size; ++i) {
        T const q = from_logits ? math::exp(prediction[i] - shift) : prediction[i] * factor;
        T derivative = 0;
        of_class(q, truth[i] * keep + add, derivative);
        gradient[i] = scale * (from_logits ? q : factor) * (derivative - mean_slope);
      }
    }
    return value;
  }

  /// Of one class with probability q and target z: the value, and its derivative with respect to q.
  template <class T>
  KOKKOS_FUNCTION T of_class(T q, T z, T& derivative) const {
    using Kokkos::log, Kokkos::pow;
    T const clipped = clip_probability(q), logarithm = log(clipped);
    T const weight = static_cast<T>(alpha) * z, power = static_cast<T>(gamma);
    T const modulation = pow(T(1) - clipped, power);
    T const slope = power * pow(T(1) - clipped, power - T(1)) * logarithm - modulation / clipped;
    derivative = math::where(is_free_probability(q), weight * slope, T(0));
    return -weight * modulation * logarithm;
  }
};

}  // namespace trireme
