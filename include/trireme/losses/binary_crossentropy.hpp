/// BinaryCrossentropy: each output is the probability of a yes, on its own.
#pragma once

#include <cstddef>

#include <Kokkos_MathematicalFunctions.hpp>

#include "trireme/activations/sigmoid.hpp"
#include "trireme/backend/simd/math.hpp"
#include "trireme/core/config.hpp"
#include "trireme/core/fixed_string.hpp"
#include "trireme/losses/probability.hpp"
#include "trireme/losses/targets.hpp"

namespace trireme {

/// Binary cross-entropy: the mean over a position's outputs of -(y log(p) + (1 - y) log(1 - p)).
///
/// Prediction p and target y (rows, …, outputs), both in [0, 1], each output on its own; one value a position, in nats.
/// With `from_logits` p = sigmoid(prediction), without overflow; otherwise p is clipped to [1e-7, 1 - 1e-7], with
/// gradient 0 where it is clipped. Smoothing replaces y by y (1 - label_smoothing) + label_smoothing / 2. The formula
/// is that of Keras's BinaryCrossentropy.
/// \throws ValueError from compile, if label_smoothing is outside of [0, 1].
struct BinaryCrossentropy {
  static constexpr FixedString name = "binary_crossentropy";
  using target = DenseTarget;
  static constexpr auto outputs = LossOutputs::mean;
  using link = Sigmoid;  ///< a model that ends in it is trained on its argument

  bool from_logits = false;    ///< predictions are logarithms of odds
  double label_smoothing = 0;  ///< this part of the target is moved to 1/2

  void config(Config& c) const {
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
      sum += from_logits ? of_logit(prediction[i], z, derivative) : of_probability(prediction[i], z, derivative);
      if (gradient != nullptr) gradient[i] = slope * derivative;
    }
    return sum / static_cast<T>(size);
  }

  /// Of one output: the value, and its derivative with respect to the logit.
  template <class T>
  static KOKKOS_FUNCTION T of_logit(T x, T z, T& derivative) {
    using Kokkos::fabs, Kokkos::log1p;
    T const e = math::exp(-fabs(x));
    derivative = math::where(x < T(0), e, T(1)) / (T(1) + e) - z;
    return math::where(x < T(0), T(0), x) - x * z + log1p(e);
  }

  /// Of one output: the value, and its derivative with respect to the probability.
  template <class T>
  static KOKKOS_FUNCTION T of_probability(T p, T z, T& derivative) {
    using Kokkos::log;
    T const yes = clip_probability(p), no = T(1) - yes;
    derivative = math::where(is_free_probability(p), (T(1) - z) / no - z / yes, T(0));
    return -(z * log(yes) + (T(1) - z) * log(no));
  }
};

}  // namespace trireme
