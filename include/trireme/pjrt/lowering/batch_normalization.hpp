/// BatchNormalization in a program.
#pragma once

#include <cstddef>
#include <vector>

#include "trireme/backend/execution/statistics_scope.hpp"
#include "trireme/layers/batch_normalization.hpp"
#include "trireme/pjrt/lowering/all_reduce.hpp"
#include "trireme/pjrt/lowering/layer.hpp"
#include "trireme/pjrt/lowering/traced.hpp"
#include "trireme/pjrt/lowering/tuples.hpp"

namespace trireme::lowering {

template <StatisticsScope Scope, class... Options>
struct LayerLowering<BasicBatchNormalization<Scope, Options...>> {
  using Layer = BasicBatchNormalization<Scope, Options...>;
  using Features = Extents<dynamic>;

  template <class T, class E>
  static auto forward(Trace<T>& trace, Layer const& layer, Value<T, E> const& x) {
    using Feature = Traced<T, Features>;
    using Number = Traced<T, E>;
    Builder& b = trace.builder();
    Axes const axes(x.extents);
    Features const features{{x.extents[axes.feature]}};
    Parameter<T, Features> gamma{}, beta{};
    Feature scale(1), shift(0);
    if constexpr (Layer::scale) {
      gamma = trace.parameter(features);
      scale = Feature(b, gamma.value);
    }
    if constexpr (Layer::center) {
      beta = trace.parameter(features);
      shift = Feature(b, beta.value);
    }
    auto const moving_mean = trace.state(features), moving_variance = trace.state(features);
    Feature mean(b, moving_mean.value), variance(b, moving_variance.value);
    bool const of_batch = trace.training() && !trace.is_frozen();
    Scalar<double> count{};
    if (of_batch) {
      auto const rows = Scope == StatisticsScope::global ? trace.rows().global_rows
                                                         : b.sum_all(b.convert<double>(trace.rows().there));
      count = b.scale(rows, static_cast<double>(x.extents.size() / (x.extents[0] * features[0])));
      mean = Feature(b, batch_mean(trace, axes, x, count));
      auto const difference = b.convert<double>((Number(b, x) - along(b, axes, mean, x.extents)).in(b, x.extents));
      variance = Feature(b, batch_mean(trace, axes, b.multiply(difference, difference), count));
      trace.set_state(moving_mean, mean.in(b, features), layer.momentum);
      trace.set_state(moving_variance, variance.in(b, features), layer.momentum);
    }
    Feature const inverse = Feature(1) / sqrt(variance + Feature(layer.epsilon));
    auto const normalized = (Number(b, x) - along(b, axes, mean, x.extents)) * along(b, axes, inverse, x.extents);
    auto const y = (normalized * along(b, axes, scale, x.extents) + along(b, axes, shift, x.extents)).in(b, x.extents);
    return Lowered{y, [=](Trace<T>& t, Value<T, E> const& dy) {
                     Builder& back = t.builder();
                     Number const d(back, dy), factor = along(back, axes, scale * inverse, dy.extents);
                     if (!of_batch) return (d * factor).in(back, dy.extents);
                     auto const products = sums(t, axes, back.convert<double>((d * normalized).in(back, dy.extents)));
                     auto const totals = sums(t, axes, back.convert<double>(dy));
                     if constexpr (Layer::scale) t.set_gradient(gamma, back.convert<T>(products));
                     if constexpr (Layer::center) t.set_gradient(beta, back.convert<T>(totals));
                     auto const of_scope = over_scope(t, {totals, products});
                     auto const mean_of = [&](Value<double, Features> const& sum) {
                       return along(back, axes, Feature(back, quotient<T>(back, sum, count)), dy.extents);
                     };
                     auto const dx = factor * (d - mean_of(of_scope[0]) - normalized * mean_of(of_scope[1]));
                     return masked(t, dx.in(back, dy.extents));
                   }};
  }

 private:
  /// The axis of the features among those of (rows, extents of a sample), and the others.
  struct Axes {
    std::size_t feature;
    std::vector<std::size_t> others{};
    template <class E>
    explicit Axes(E const&) : feature(Layer::axis == 0 ? E::rank - 1 : Layer::axis) {
      for (std::size_t axis = 0; axis < E::rank; ++axis)
        if (axis != feature) others.push_back(axis);
    }
  };

  template <class T, class E>
  static Traced<T, E> along(Builder& b, Axes const& axes, Traced<T, Features> const& x, E const& extents) {
    return {b, b.repeat(x.in(b, Features{{extents[axes.feature]}}), extents, {axes.feature})};
  }
  /// x, and 0 in rows that fill up the batch.
  template <class T, class V>
  static V masked(Trace<T>& trace, V const& x) {
    Builder& b = trace.builder();
    auto const there = b.repeat(trace.rows().there, x.extents, {0});
    return b.select(there, x, b.constant_like<typename V::element>({}, x));
  }
  /// Sums of this replica's rows.
  template <class T, class E>
  static Value<double, Features> sums(Trace<T>& trace, Axes const& axes, Value<double, E> const& x) {
    return trace.builder().sum_over(masked(trace, x), Features{{x.extents[axes.feature]}}, axes.others);
  }
  /// The sums of replicas over all of the statistics' scope.
  template <class T>
  static std::vector<Value<double, Features>> over_scope(Trace<T>& trace,
                                                         std::vector<Value<double, Features>> const& of_replica) {
    if constexpr (Scope == StatisticsScope::global) {
      Tensors<double> tensors;
      for (auto const& sum : of_replica) tensors.push_back({{sum.extents.to_vector()}, sum.id});
      std::vector<Value<double, Features>> sums;
      for (auto const& sum : sum_global_batch(trace, tensors)) sums.push_back(typed(sum, of_replica[0].extents));
      return sums;
    } else {
      return of_replica;
    }
  }
  /// Quotient by a count, and 0 where that is 0.
  template <class T>
  static Value<T, Features> quotient(Builder& b, Value<double, Features> const& sum, Scalar<double> const& count) {
    auto const counts = b.fill(count, sum.extents);
    auto const none = b.constant_like<double>(0, sum);
    return b.convert<T>(b.select(b.compare<"GT">(counts, none), b.divide(sum, counts), none));
  }
  template <class T, class U, class E>
  static Value<T, Features> batch_mean(Trace<T>& trace, Axes const& axes, Value<U, E> const& x,
                                       Scalar<double> const& count) {
    Builder& b = trace.builder();
    return quotient<T>(b, over_scope(trace, {sums(trace, axes, b.convert<double>(x))})[0], count);
  }
};

}  // namespace trireme::lowering
