/// Metrics in a program: the sums over the positions of a batch that they add to their states.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "trireme/metrics/accuracy.hpp"
#include "trireme/metrics/binary_accuracy.hpp"
#include "trireme/metrics/categorical_accuracy.hpp"
#include "trireme/metrics/sparse_categorical_accuracy.hpp"
#include "trireme/metrics/weighted.hpp"
#include "trireme/pjrt/lowering/builder.hpp"

namespace trireme::lowering {

/// Lowering of a metric. Each has a specialization whose sums(builder, metric, prediction (N, C), target, weight (N))
/// returns an array of Scalar<double>, one for each number of the metric's state. A padded position weighs 0.
template <class Metric>
struct MetricLowering {
  static constexpr bool missing = true;
};

/// Index of the largest number of each row; the first one if there are several.
template <class T, std::size_t C>
Value<std::int32_t, Extents<dynamic>> arg_max(Builder& b, Value<T, Extents<dynamic, C>> const& x) {
  auto const largest = b.compare<"EQ">(x, b.repeat_back(b.max_back(x), x.extents));
  auto const index = b.iota<std::int32_t>(1, x.extents);
  auto const behind = b.constant_like<std::int32_t>(static_cast<std::int32_t>(x.extents[1]), index);
  return b.min_back(b.select(largest, index, behind));
}

/// The sums of MeanState where each position adds (right, count), weighted.
template <class E>
std::array<Scalar<double>, 2> mean_sums(Builder& b, Value<double, E> const& right, double count,
                                        Value<double, E> const& weight) {
  return {b.sum_all(b.multiply(right, weight)), b.sum_all(b.scale(weight, count))};
}

template <>
struct MetricLowering<SparseCategoricalAccuracy> {
  template <class Metric, class T, std::size_t C>
  static auto sums(Builder& b, Metric const&, Value<T, Extents<dynamic, C>> const& prediction,
                   Value<std::int32_t, Extents<dynamic>> const& labels, Value<double, Extents<dynamic>> const& weight) {
    auto const right = b.convert<double>(b.compare<"EQ">(arg_max(b, prediction), labels));
    return mean_sums(b, right, 1, weight);
  }
};

template <>
struct MetricLowering<CategoricalAccuracy> {
  template <class Metric, class T, std::size_t C>
  static auto sums(Builder& b, Metric const&, Value<T, Extents<dynamic, C>> const& prediction,
                   Value<T, Extents<dynamic, C>> const& target, Value<double, Extents<dynamic>> const& weight) {
    auto const right = b.convert<double>(b.compare<"EQ">(arg_max(b, prediction), arg_max(b, target)));
    return mean_sums(b, right, 1, weight);
  }
};

template <>
struct MetricLowering<BinaryAccuracy> {
  template <class T, std::size_t C, class L, class F>
  static auto sums(Builder& b, BinaryAccuracy const& metric, Value<T, Extents<dynamic, C>> const& prediction,
                   Value<L, F> const& target, Value<double, Extents<dynamic>> const& weight) {
    auto const threshold = b.constant_like<T>(static_cast<T>(metric.threshold), prediction);
    auto const answer = b.convert<L>(b.compare<"GT">(prediction, threshold));
    auto const right = b.convert<double>(b.compare<"EQ">(answer, b.reshape(target, prediction.extents)));
    return mean_sums(b, b.sum_back(right), static_cast<double>(prediction.extents[1]), weight);
  }
};

template <>
struct MetricLowering<Accuracy> {
  template <class T, std::size_t C, class L, class F>
  static auto sums(Builder& b, Accuracy const& metric, Value<T, Extents<dynamic, C>> const& prediction,
                   Value<L, F> const& target, Value<double, Extents<dynamic>> const& weight) {
    if (prediction.extents[1] == 1)
      return MetricLowering<BinaryAccuracy>::sums(b, BinaryAccuracy{}, prediction, target, weight);
    if constexpr (std::is_integral_v<L>)
      return MetricLowering<SparseCategoricalAccuracy>::sums(b, metric, prediction, target, weight);
    else
      return MetricLowering<CategoricalAccuracy>::sums(b, metric, prediction, target, weight);
  }
};

/// Lowering of a weighted metric; the caller passes the sample weights.
template <class Metric>
struct MetricLowering<Weighted<Metric>> : MetricLowering<Metric> {};

}  // namespace trireme::lowering
