/// The mathematics of a step within a program: forward, loss and metrics, backward.
#pragma once

#include <cstddef>
#include <cstdint>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "trireme/metrics/weighted.hpp"
#include "trireme/pjrt/lowering/activations.hpp"
#include "trireme/pjrt/lowering/arguments.hpp"
#include "trireme/pjrt/lowering/graph.hpp"
#include "trireme/pjrt/lowering/losses.hpp"
#include "trireme/pjrt/lowering/metrics.hpp"
#include "trireme/pjrt/lowering/trace.hpp"

namespace trireme::lowering {

/// Step of a model. A program has a fixed number of rows. A batch with fewer is padded, and the number of its rows is
/// an argument: padded rows take no part in loss, gradients, counts or metrics.
template <class Model>
class ModelStep : public ModelArguments<Model> {
  using Base = ModelArguments<Model>;

 protected:
  using Base::Base;
  using Base::infos;
  using Base::model_;
  using Base::positions;
  using Base::rows_;
  using Base::width;
  using typename Base::Architecture;
  using typename Base::Positions;
  using typename Base::StepArguments;
  using typename Base::T;
  using typename Base::Target;

  /// A trace that hands the weights to the layers; `frozen`: all frozen ones.
  Trace<T> trace_of(Builder& b, Tensors<T> const& weights, Tensors<T> const& frozen, bool training) const {
    Tensors<T> frozen_parameters;
    for (std::size_t i = 0; i < frozen.size(); ++i)
      if (!model_.description().frozen[i].is_state) frozen_parameters.push_back(frozen[i]);
    return Trace<T>(b, weights, frozen_parameters, training);
  }

  auto forward(Trace<T>& trace, StepArguments const& arguments) const {
    Builder& b = trace.builder();
    auto const low = b.convert<std::uint64_t>(b.element(arguments.words, StepLayout::first_row));
    auto const high = b.convert<std::uint64_t>(b.element(arguments.words, StepLayout::first_row + 1));
    auto const shifted = b.binary<"shift_left">(high, b.constant<std::uint64_t>(32));
    trace.set_random(arguments.words, StepLayout::keys, b.binary<"or">(shifted, low));
    return lower_graph(trace, model_.architecture(), arguments.x, false);
  }

  /// Gradients of this replica's rows, and its totals.
  template <class Numbers>
  auto differentiate(Builder& b, Tensors<T> const& weights, Tensors<T> const& frozen, StepArguments const& arguments,
                     Numbers const& numbers) const {
    Trace<T> trace = trace_of(b, weights, frozen, true);
    auto const pass = forward(trace, arguments);
    auto const scale = b.fill(b.convert<T>(b.element(numbers, StepLayout::scale)), Positions{{positions()}});
    auto const [dz, sums] = score(b, pass.y, arguments, scale);
    pass.nodes->backward(trace, list_values<T>(b.reshape(dz, pass.y.extents)));
    return std::pair{trace.gradients([&](std::size_t index) { return infos()[index].path; }), sums};
  }

  /// The gradient of the sum of scaled losses by (positions, numbers), and the batch's totals.
  template <class Y>
  auto score(Builder& b, Y const& y, StepArguments const& arguments, Value<T, Positions> const& scale) const {
    using Loss = std::remove_cvref_t<decltype(model_.head().loss())>;
    static_assert(
        !requires { LossLowering<Loss>::missing; },
        "trireme: this loss cannot be compiled for a PJRT device, since it has no LossLowering; "
        "SparseCategoricalCrossentropy and MeanSquaredError have one");
    Positions const rows{{rows_}};
    auto const there =
        b.compare<"LT">(b.iota<std::uint32_t>(0, rows), b.fill(b.element(arguments.words, StepLayout::rows), rows));
    auto const row_weight = b.select(there, arguments.weight, b.constant_like<double>(0, arguments.weight));
    auto const exists_at = of_rows(b, there);
    auto const weight = of_rows(b, row_weight);
    auto const z = by_position(b, y);
    auto const losses =
        LossLowering<Loss>::positions(b, model_.head().loss(), z, arguments.y, b.multiply(scale, b.convert<T>(weight)));
    auto const values = b.select(exists_at, b.convert<double>(losses.values), b.constant_like<double>(0, weight));
    auto counted = exists_at;
    if (losses.counts) counted = b.binary<"and">(counted, *losses.counts);
    std::vector<Scalar<double>> sums{b.sum_all(b.multiply(values, weight)), b.sum_all(b.convert<double>(counted))};
    auto const prediction = output(b, z);
    auto const one = b.convert<double>(exists_at);
    std::apply([&](auto const&... metric) { (add_metric(b, metric, prediction, arguments.y, weight, one, sums), ...); },
               model_.head().metrics());
    Tensors<double> vector;
    for (auto const& sum : sums) vector.push_back(b.reshape(sum, AnyExtents{{1}}));
    auto const all = b.concatenate(vector);
    return std::pair{losses.gradient, Value<double, Extents<Model::totals_width>>{{}, all.id}};
  }

  /// The model's output from the loss's input, which may be logits.
  template <class Z>
  Z output(Builder& b, Z const& z) const {
    if constexpr (Model::on_logits) {
      using Link = typename std::remove_cvref_t<decltype(model_.head().loss())>::link;
      return ActivationLowering<Link>::forward(b, Link{}, z);
    } else {
      return z;
    }
  }

  /// Outputs as (positions, elements of a position).
  template <class Y>
  Value<T, Extents<dynamic, width>> by_position(Builder& b, Y const& y) const {
    return b.reshape(y, Extents<dynamic, width>{{positions(), model_.classes()}});
  }

 private:
  /// Values by position from values by row.
  template <class V>
  Value<V, Positions> of_rows(Builder& b, Value<V, Positions> const& rows) const {
    std::size_t const per_row = model_.head().positions_per_row();
    if (per_row == 1) return rows;
    return b.reshape(b.repeat_back(rows, Extents<dynamic, dynamic>{{rows_, per_row}}), Positions{{positions()}});
  }

  template <class Metric, class Y, class V>
  static void add_metric(Builder& b, Metric const& metric, Y const& prediction, Target const& target, V const& weight,
                         V const& one, std::vector<Scalar<double>>& sums) {
    static_assert(
        !requires { MetricLowering<Metric>::missing; },
        "trireme: this metric cannot be compiled for a PJRT device, since it has no MetricLowering; the "
        "accuracies have one");
    for (auto const& sum :
         MetricLowering<Metric>::sums(b, metric, prediction, target, is_weighted<Metric> ? weight : one))
      sums.push_back(sum);
  }
};

}  // namespace trireme::lowering
