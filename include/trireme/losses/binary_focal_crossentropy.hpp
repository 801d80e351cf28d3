/// BinaryFocalCrossentropy: binary cross-entropy in which well predicted outputs weigh less.
/// Source: Lin, Goyal, Girshick, He, Dollar, "Focal loss for dense object detection", arXiv:1708.02002.
#pragma once

#include <cstddef>

#include <Kokkos_MathematicalFunctions.hpp>

#include "trireme/activations/sigmoid.hpp"
#include "trireme/backend/simd/math.hpp"
#include "trireme/core/config.hpp"
#include "trireme/core/fixed_string.hpp"
#include "trireme/losses/binary_crossentropy.hpp"
#include "trireme/losses/targets.hpp"

namespace trireme {

/// Binary focal cross-entropy: the mean over a position's outputs of a (1 - q)^gamma times their binary cross-entropy.
///
/// Prediction p and target y (rows, …, outputs), both in [0, 1]; one value a position, in nats. q = y p + (1 - y) (1 -
/// p) is the probability of what is true; a = 1, or y alpha + (1 - y) (1 - alpha) with `apply_class_balancing`.
/// Clipping and smoothing are those of BinaryCrossentropy. Source: Lin et al., arXiv:1708.02002, as Keras's
/// BinaryFocalCrossentropy. Designated initializers name the members in this order.
/// \throws ValueError from compile, if alpha or label_smoothing is outside of [0, 1], or gamma is negative or infinite.
struct BinaryFocalCrossentropy {
  static constexpr FixedString name = "binary_focal_crossentropy";
  using target = DenseTarget;
  static constexpr auto outputs = LossOutputs::mean;
  using link = Sigmoid;  ///< a model that ends in it is trained on its argument

  bool apply_class_balancing = false;  ///< weigh yes by alpha and no by 1 - alpha
  double alpha = 0.25;
  double gamma = 2;            ///< power of 1 - (probability of what is true)
  bool from_logits = false;    ///< predictions are logarithms of odds
  double label_smoothing = 0;  ///< this part of the target is moved to 1/2

  void config(Config& c) const {
    c("apply_class_balancing", apply_class_balancing);
    c("alpha", alpha, intervals::fraction);
    c("gamma", gamma, intervals::not_negative);
    c("from_logits", from_logits);
    c("label_smoothing", label_smoothing, intervals::fraction);
  }

  template <class T>
  KOKKOS_FUNCTION T operator()(T const* prediction, T const* truth, std::size_t size, T scale, T* gradient) const {
    T const keep = static_cast<T>(1 - label_smoothing), add = static_cast<T>(0.5 * label_smoothing);
    T const slope = scale / static_cast<T>(size);
    T sum = 0;
    for (std::size_t i = 0; i < size; ++i) {
      T const z = truth[i] * keep + add;
      T derivative = 0;
      sum += of_output(prediction[i], z, derivative);
      if (gradient != nullptr) gradient[i] = slope * derivative;
    }
    return sum / static_cast<T>(size);
  }

 private:
  template <class T>
  KOKKOS_FUNCTION T of_output(T prediction, T z, T& derivative) const {
    using Kokkos::pow;
    T const p = from_logits ? T(1) / (T(1) + math::exp(-prediction)) : prediction;
    T const q = from_logits ? T(1) / (T(1) + math::exp(prediction)) : T(1) - p;  // without cancellation
    T entropy_slope = 0;                                                         // with respect to the prediction
    T const entropy = from_logits ? BinaryCrossentropy::of_logit(prediction, z, entropy_slope)
                                  : BinaryCrossentropy::of_probability(prediction, z, entropy_slope);
    T const miss = z * q + (T(1) - z) * p;  // 1 - (z p + (1 - z) q)
    T const power = static_cast<T>(gamma);
    T const factor = pow(miss, power);
    // A certain and right output has none, where that of a power below 1 has no bound.
    T const unbounded = power * pow(miss, power - T(1)) * (T(1) - T(2) * z);
    T const factor_slope = gamma < 1 ? math::where(miss == T(0), T(0), unbounded) : unbounded;
    T const a = static_cast<T>(alpha);
    T const weight = apply_class_balancing ? z * a + (T(1) - z) * (T(1) - a) : T(1);
    derivative = weight * (factor_slope * (from_logits ? p * q : T(1)) * entropy + factor * entropy_slope);
    return weight * factor * entropy;
  }
};

}  // namespace trireme
