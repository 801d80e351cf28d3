/// Metrics in a program: the sums over the positions of a batch that they add to their states.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "trireme/metrics/accuracy.hpp"
#include "trireme/metrics/binary_accuracy.hpp"
#include "trireme/metrics/categorical_accuracy.hpp"
#include "trireme/metrics/mean_of.hpp"
#include "trireme/metrics/sparse_categorical_accuracy.hpp"
#include "trireme/metrics/sparse_top_k_categorical_accuracy.hpp"
#include "trireme/metrics/top_k_categorical_accuracy.hpp"
#include "trireme/metrics/weighted.hpp"
#include "trireme/pjrt/lowering/builder.hpp"
#include "trireme/pjrt/lowering/losses.hpp"

namespace trireme::lowering {

/// Positions of a batch that exist; the others fill it up, weigh 0 and may be where a formula has no value.
using Existing = Value<bool, Extents<dynamic>>;

/// Lowering of a metric. Each has a specialization whose sums(builder, metric, prediction (N, C), target, weight (N),
/// exists (N)) returns an array of Scalar<double>, one for each number of the metric's state.
template <class Metric>
struct MetricLowering {
  static constexpr bool missing = true;
};

/// Index of the largest number of each row, the first one if there are several; NaN is as small as any.
template <class T, std::size_t C>
Value<std::int32_t, Extents<dynamic>> arg_max(Builder& b, Value<T, Extents<dynamic, C>> const& given) {
  auto const x =
      b.select(b.compare<"EQ">(given, given), given, b.constant_like<T>(-std::numeric_limits<T>::infinity(), given));
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
                   Value<std::int32_t, Extents<dynamic>> const& labels, Value<double, Extents<dynamic>> const& weight,
                   Existing const&) {
    auto const right = b.convert<double>(b.compare<"EQ">(arg_max(b, prediction), labels));
    return mean_sums(b, right, 1, weight);
  }
};

template <>
struct MetricLowering<CategoricalAccuracy> {
  template <class Metric, class T, std::size_t C>
  static auto sums(Builder& b, Metric const&, Value<T, Extents<dynamic, C>> const& prediction,
                   Value<T, Extents<dynamic, C>> const& target, Value<double, Extents<dynamic>> const& weight,
                   Existing const&) {
    auto const right = b.convert<double>(b.compare<"EQ">(arg_max(b, prediction), arg_max(b, target)));
    return mean_sums(b, right, 1, weight);
  }
};

template <>
struct MetricLowering<BinaryAccuracy> {
  template <class T, std::size_t C, class L, class F>
  static auto sums(Builder& b, BinaryAccuracy const& metric, Value<T, Extents<dynamic, C>> const& prediction,
                   Value<L, F> const& target, Value<double, Extents<dynamic>> const& weight, Existing const&) {
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
                   Value<L, F> const& target, Value<double, Extents<dynamic>> const& weight, Existing const& exists) {
    if (prediction.extents[1] == 1)
      return MetricLowering<BinaryAccuracy>::sums(b, BinaryAccuracy{}, prediction, target, weight, exists);
    if constexpr (std::is_integral_v<L>)
      return MetricLowering<SparseCategoricalAccuracy>::sums(b, metric, prediction, target, weight, exists);
    else
      return MetricLowering<CategoricalAccuracy>::sums(b, metric, prediction, target, weight, exists);
  }
};

/// True where fewer than k numbers of a row are larger than the one that `hot` marks, and all are finite.
template <class T, std::size_t C>
Value<bool, Extents<dynamic>> in_top_k(Builder& b, Value<T, Extents<dynamic, C>> const& x,
                                       Value<bool, Extents<dynamic, C>> const& hot, std::size_t k) {
  auto const zero = b.constant_like<T>(T{0}, x);
  auto const chosen = b.sum_back(b.select(hot, x, zero));
  auto const larger = b.compare<"GT">(x, b.repeat_back(chosen, x.extents));
  auto const count = b.sum_back(b.convert<std::int32_t>(larger));
  auto const limit = static_cast<std::int32_t>(std::min(k, std::size_t{std::numeric_limits<std::int32_t>::max()}));
  auto const few = b.compare<"LT">(count, b.constant_like<std::int32_t>(limit, count));
  // A label out of range marks none. The sum of numbers that are 0 times any other is NaN unless all are finite.
  auto const marked = b.sum_back(b.convert<std::int32_t>(hot));
  auto const inside = b.compare<"EQ">(marked, b.constant_like<std::int32_t>(1, marked));
  auto const nothing = b.sum_back(b.multiply(x, zero));
  auto const finite = b.compare<"EQ">(nothing, b.constant_like<T>(T{0}, nothing));
  return b.binary<"and">(few, b.binary<"and">(inside, finite));
}

template <>
struct MetricLowering<SparseTopKCategoricalAccuracy> {
  template <class Metric, class T, std::size_t C>
  static auto sums(Builder& b, Metric const& metric, Value<T, Extents<dynamic, C>> const& prediction,
                   Value<std::int32_t, Extents<dynamic>> const& labels, Value<double, Extents<dynamic>> const& weight,
                   Existing const&) {
    auto const inside = in_top_k(b, prediction, one_hot(b, labels, prediction.extents), metric.k);
    return mean_sums(b, b.convert<double>(inside), 1, weight);
  }
};

template <>
struct MetricLowering<TopKCategoricalAccuracy> {
  template <class Metric, class T, std::size_t C>
  static auto sums(Builder& b, Metric const& metric, Value<T, Extents<dynamic, C>> const& prediction,
                   Value<T, Extents<dynamic, C>> const& target, Value<double, Extents<dynamic>> const& weight,
                   Existing const&) {
    auto const hot = one_hot(b, arg_max(b, target), prediction.extents);
    return mean_sums(b, b.convert<double>(in_top_k(b, prediction, hot, metric.k)), 1, weight);
  }
};

namespace detail {
template <class Loss, class Named, Direction direction>
void is_mean_of_loss(metrics::MeanOf<Loss, Named, direction> const&);
}  // namespace detail

/// The mean of a loss, by the loss's own lowering.
template <class Metric>
  requires(!is_weighted<Metric> && requires(Metric const& metric) { detail::is_mean_of_loss(metric); })
struct MetricLowering<Metric> {
  template <class M, class T, std::size_t C, class Target>
  static auto sums(Builder& b, M const& metric, Value<T, Extents<dynamic, C>> const& prediction, Target const& target,
                   Value<double, Extents<dynamic>> const& weight, Existing const& exists) {
    using Loss = std::remove_cvref_t<decltype(metric.loss)>;
    auto const losses = LossLowering<Loss>::positions(b, metric.loss, prediction, target, b.convert<T>(weight));
    auto const none = b.constant_like<double>(0, weight);
    auto counted = exists;  // with those of weight 0, whose NaN shows as on the host
    if (losses.counts) counted = b.binary<"and">(counted, *losses.counts);
    auto const values = b.select(counted, b.convert<double>(losses.values), none);
    return mean_sums(b, values, 1, b.select(counted, weight, none));
  }
};

/// Lowering of a weighted metric; the caller passes the sample weights.
template <class Metric>
struct MetricLowering<Weighted<Metric>> : MetricLowering<Metric> {};

}  // namespace trireme::lowering
