/// SparseCategoricalCrossentropy: minus the logarithm of the probability of the right class, given by its index.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>

#include <Kokkos_MathematicalFunctions.hpp>
#include <Kokkos_NumericTraits.hpp>

#include "trireme/activations/softmax.hpp"
#include "trireme/backend/simd/math.hpp"
#include "trireme/core/config.hpp"
#include "trireme/core/fixed_string.hpp"
#include "trireme/losses/probability.hpp"
#include "trireme/losses/targets.hpp"

namespace trireme {

/// Categorical cross-entropy for class indices: -log(p_c) of a position whose right class is c.
///
/// Prediction (rows, …, classes), target (rows, …) of class indices; one value a position, in nats. With `from_logits`
/// p = softmax(prediction), without overflow; otherwise p is the prediction, clipped to [1e-7, 1 - 1e-7] and divided by
/// its sum. Positions whose label is `ignore_class` have loss 0 and do not count in the mean. The formula is that of
/// Keras's SparseCategoricalCrossentropy. A model whose position has one output does not compile:
/// "SparseCategoricalCrossentropy needs one output for each class".
/// \throws ValueError from fit and evaluate, for a label that is neither in [0, classes) nor `ignore_class`.
struct SparseCategoricalCrossentropy {
  static constexpr FixedString name = "sparse_categorical_crossentropy";
  using target = ClassIndex;
  using link = Softmax;  ///< a model that ends in it is trained on its argument
  static constexpr std::int32_t no_class = std::numeric_limits<std::int32_t>::min();

  bool from_logits = false;              ///< predictions are unnormalised logarithms
  std::int32_t ignore_class = no_class;  ///< positions of this label, often -1 or 255, have loss 0 and leave the count

  void config(Config& c) const {
    c("from_logits", from_logits);
    c("ignore_class", ignored_label());
  }

  template <class OutputExtents>
  static constexpr bool fits = !is_single<OutputExtents>;

  template <class OutputExtents>
  static consteval bool require_fit() {
    static_assert(fits<OutputExtents>,
                  "trireme: SparseCategoricalCrossentropy needs one output for each class; for two classes and one "
                  "output take BinaryCrossentropy");
    return true;
  }

  /// True if positions may be left out of the mean.
  bool masks() const { return ignore_class != no_class; }
  /// Label that data may have beside the classes.
  std::optional<std::int32_t> ignored_label() const {
    return masks() ? std::optional(ignore_class) : std::optional<std::int32_t>();
  }
  /// True if this position counts in the mean.
  KOKKOS_FUNCTION bool counts(std::int32_t const* label) const {
    return ignore_class == no_class || *label != ignore_class;
  }

  /// A label outside of [0, size) gives NaN, and reads nothing outside.
  template <class T>
  KOKKOS_FUNCTION T operator()(T const* prediction, std::int32_t const* label, std::size_t size, T scale,
                               T* gradient) const {
    if (!counts(label)) return constant(T(0), size, gradient);
    auto const right = static_cast<std::size_t>(*label);  // a negative label becomes a very large index
    if (right >= size) return constant(T(Kokkos::Experimental::quiet_NaN_v<T>), size, gradient);
    return from_logits ? of_logits(prediction, right, size, scale, gradient)
                       : of_probabilities(prediction, right, size, scale, gradient);
  }

 private:
  template <class T>
  static KOKKOS_FUNCTION T constant(T value, std::size_t size, T* gradient) {
    if (gradient != nullptr) {
      for (std::size_t i = 0; i < size; ++i) gradient[i] = value;
    }
    return value;
  }

  template <class T>
  static KOKKOS_FUNCTION T of_logits(T const* x, std::size_t right, std::size_t size, T scale, T* gradient) {
    T const largest = largest_of(x, size);
    T const chosen = x[right] - largest;
    T sum = 0;
    if (gradient == nullptr) {
      for (std::size_t i = 0; i < size; ++i) sum += math::exp(x[i] - largest);
      return Kokkos::log(sum) - chosen;
    }
    for (std::size_t i = 0; i < size; ++i) {
      gradient[i] = math::exp(x[i] - largest);
      sum += gradient[i];
    }
    T const factor = scale / sum;
    for (std::size_t i = 0; i < size; ++i) gradient[i] *= factor;
    gradient[right] -= scale;
    return Kokkos::log(sum) - chosen;
  }

  /// Keras divides the clipped probabilities by their sum.
  template <class T>
  static KOKKOS_FUNCTION T of_probabilities(T const* p, std::size_t right, std::size_t size, T scale, T* gradient) {
    T sum = 0;
    for (std::size_t i = 0; i < size; ++i) sum += clip_probability(p[i]);
    T const chosen = clip_probability(p[right]);
    T const at_right = is_free_probability(p[right]) ? scale / chosen : T(0);
    if (gradient != nullptr) {
      T const slope = scale / sum;
      for (std::size_t i = 0; i < size; ++i) gradient[i] = is_free_probability(p[i]) ? slope : T(0);
      gradient[right] -= at_right;
    }
    return Kokkos::log(sum) - Kokkos::log(chosen);
  }
};

}  // namespace trireme
