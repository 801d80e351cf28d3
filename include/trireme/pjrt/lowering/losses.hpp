/// Losses in a program: SparseCategoricalCrossentropy and MeanSquaredError.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

#include "trireme/losses/mean_squared_error.hpp"
#include "trireme/losses/probability.hpp"
#include "trireme/losses/sparse_categorical_crossentropy.hpp"
#include "trireme/pjrt/lowering/builder.hpp"

namespace trireme::lowering {

/// The loss at each of N positions; its gradient, scaled by the position's number; and the mask of the positions that
/// count in the mean, if not all do.
template <class T, std::size_t C>
struct PositionLosses {
  Value<T, Extents<dynamic>> values;
  Value<T, Extents<dynamic, C>> gradient;
  std::optional<Value<bool, Extents<dynamic>>> counts;
};

/// Lowering of a loss; each has a specialization with positions(builder, loss, prediction (N, C), target, scale (N)).
template <class Loss>
struct LossLowering {
  static constexpr bool missing = true;
};

/// One-hot rows of labels: (N, C). A label out of range gives a row of zeros.
template <std::size_t C>
Value<bool, Extents<dynamic, C>> one_hot(Builder& b, Value<std::int32_t, Extents<dynamic>> const& labels,
                                         Extents<dynamic, C> const& extents) {
  return b.compare<"EQ">(b.iota<std::int32_t>(1, extents), b.repeat_back(labels, extents));
}

template <>
struct LossLowering<SparseCategoricalCrossentropy> {
  template <class T, std::size_t C>
  static PositionLosses<T, C> positions(Builder& b, SparseCategoricalCrossentropy const& loss,
                                        Value<T, Extents<dynamic, C>> const& prediction,
                                        Value<std::int32_t, Extents<dynamic>> const& labels,
                                        Value<T, Extents<dynamic>> const& scale) {
    auto const right = one_hot(b, labels, prediction.extents);
    auto result =
        loss.from_logits ? of_logits(b, prediction, right, scale) : of_probabilities(b, prediction, right, scale);
    // A label out of range gives NaN, as in the kernels.
    auto const zero = b.constant_like<std::int32_t>(0, labels);
    auto const end = b.constant_like<std::int32_t>(static_cast<std::int32_t>(prediction.extents[1]), labels);
    auto const inside = b.binary<"and">(b.compare<"GE">(labels, zero), b.compare<"LT">(labels, end));
    T const nan = std::numeric_limits<T>::quiet_NaN();
    result.values = b.select(inside, result.values, b.constant_like<T>(nan, result.values));
    result.gradient = b.select(b.repeat_back(inside, result.gradient.extents), result.gradient,
                               b.constant_like<T>(nan, result.gradient));
    if (loss.masks()) {
      auto const counts = b.compare<"NE">(labels, b.constant_like<std::int32_t>(loss.ignore_class, labels));
      result.values = b.select(counts, result.values, b.constant_like<T>(T{0}, result.values));
      result.gradient = b.select(b.repeat_back(counts, result.gradient.extents), result.gradient,
                                 b.constant_like<T>(T{0}, result.gradient));
      result.counts = counts;
    }
    return result;
  }

 private:
  template <class T, std::size_t C, class Hot>
  static PositionLosses<T, C> of_logits(Builder& b, Value<T, Extents<dynamic, C>> const& x, Hot const& right,
                                        Value<T, Extents<dynamic>> const& scale) {
    auto const zero = b.constant_like<T>(T{0}, x);
    auto const centred = b.subtract(x, b.repeat_back(b.max_back(x), x.extents));
    auto const e = b.unary<"exponential">(centred);
    auto const sum = b.sum_back(e);
    auto const chosen = b.sum_back(b.select(right, centred, zero));
    auto const share = b.multiply(e, b.repeat_back(b.divide(scale, sum), x.extents));
    auto const at_right = b.select(right, b.repeat_back(scale, x.extents), zero);
    return {b.subtract(b.unary<"log">(sum), chosen), b.subtract(share, at_right), {}};
  }

  template <class T, std::size_t C, class Hot>
  static PositionLosses<T, C> of_probabilities(Builder& b, Value<T, Extents<dynamic, C>> const& p, Hot const& right,
                                               Value<T, Extents<dynamic>> const& scale) {
    auto const zero = b.constant_like<T>(T{0}, p);
    auto const low = b.constant_like<T>(static_cast<T>(probability_epsilon), p);
    auto const high = b.constant_like<T>(static_cast<T>(1 - probability_epsilon), p);
    auto const clipped = b.binary<"minimum">(b.binary<"maximum">(p, low), high);
    auto const is_free = b.binary<"and">(b.compare<"GE">(p, low), b.compare<"LE">(p, high));
    auto const sum = b.sum_back(clipped);
    auto const chosen = b.sum_back(b.select(right, clipped, zero));
    auto const slope = b.repeat_back(b.divide(scale, sum), p.extents);
    auto const at_right = b.select(right, b.repeat_back(b.divide(scale, chosen), p.extents), zero);
    auto const gradient = b.select(is_free, b.subtract(slope, at_right), zero);
    return {b.subtract(b.unary<"log">(sum), b.unary<"log">(chosen)), gradient, {}};
  }
};

template <>
struct LossLowering<MeanSquaredError> {
  template <class T, std::size_t C>
  static PositionLosses<T, C> positions(Builder& b, MeanSquaredError const&,
                                        Value<T, Extents<dynamic, C>> const& prediction,
                                        Value<T, Extents<dynamic, C>> const& truth,
                                        Value<T, Extents<dynamic>> const& scale) {
    T const size = static_cast<T>(prediction.extents[1]);
    auto const error = b.subtract(prediction, truth);
    auto const mean = b.divide(b.sum_back(b.multiply(error, error)), b.constant_like<T>(size, scale));
    auto const slope = b.scale(scale, T{2} / size);
    return {mean, b.multiply(error, b.repeat_back(slope, error.extents)), {}};
  }
};

}  // namespace trireme::lowering
