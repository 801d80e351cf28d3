/// Losses and metrics of a batch in a program, and the gradients of the model's outputs.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "trireme/losses/targets.hpp"
#include "trireme/metrics/weighted.hpp"
#include "trireme/models/head.hpp"
#include "trireme/pjrt/lowering/activations.hpp"
#include "trireme/pjrt/lowering/arguments.hpp"
#include "trireme/pjrt/lowering/losses.hpp"
#include "trireme/pjrt/lowering/metrics.hpp"
#include "trireme/pjrt/lowering/tuples.hpp"

namespace trireme::lowering {

template <class Loss>
consteval bool require_loss_lowering() {
  static_assert(
      !requires { LossLowering<Loss>::missing; },
      "trireme: this loss cannot be compiled for a PJRT device, since it has neither a LossLowering nor 'outputs', "
      "by which its formula takes every output by itself");
  return true;
}

/// Scores of a model's outputs: of one, or of several with a loss and metrics each.
template <class Model>
class ModelScore {
  using Arguments = ModelArguments<Model>;
  using T = typename Arguments::T;
  using L = typename Arguments::L;
  using Positions = typename Arguments::Positions;
  using Place = trireme::detail::OutputPlace;

 public:
  explicit ModelScore(Arguments const& arguments) : model_(arguments.model()), rows_(arguments.rows()) {}

  /// For each output a number by position, with which its loss's gradient is multiplied.
  using Scales = std::vector<Value<T, Positions>>;
  Scales scales(Builder& b, Value<double, Extents<Arguments::number_count>> const& numbers) const {
    Scales all;
    model_.head().for_each_output([&](auto const& out, auto const&, Place const& place) {
      auto number = b.element(numbers, Arguments::Numbers::scale + place.index);
      if constexpr (Arguments::joined_targets) number = b.scale(number, out.weight);
      all.push_back(b.fill(b.convert<T>(number), positions(place)));
    });
    return all;
  }
  Scales unscaled(Builder& b) const {
    Scales all;
    model_.head().for_each_output(
        [&](auto const&, auto const&, Place const& place) { all.push_back(b.constant<T>(T{1}, positions(place))); });
    return all;
  }

  struct Score {
    Tensors<T> gradients;  ///< of the sum of scaled losses, by output, as (positions, elements of a position)
    Value<double, Extents<Model::totals_width>> totals;
  };
  /// `y`: what the layers hand on.
  template <class Y, class Batch>
  Score score(Builder& b, Y const& y, Batch const& batch, Scales const& scales) const {
    Positions const rows{{rows_}};
    auto const there =
        b.compare<"LT">(b.iota<std::uint32_t>(0, rows), b.fill(b.element(batch.words, StepLayout::rows), rows));
    auto const row_weight = b.select(there, batch.weight, b.constant_like<double>(0, batch.weight));
    Tensors<T> const outputs = list_values<T>(y);
    Tensors<T> gradients;
    Tensors<double> totals;
    model_.head().for_each_output([&]<class Out, class E>(Out const& out, E const&, Place const& place) {
      static_assert(require_loss_lowering<typename Out::Loss>());
      auto const exists_at = of_rows(b, there, place);
      auto const weight = of_rows(b, row_weight, place);
      auto const z = by_position<E>(b, outputs[place.index], place);
      auto const target = target_of<typename Out::Loss::target, E>(b, batch, place);
      auto const losses = LossLowering<typename Out::Loss>::positions(
          b, out.loss, z, target, b.multiply(scales[place.index], b.convert<T>(weight)));
      auto const values = b.select(exists_at, b.convert<double>(losses.values), b.constant_like<double>(0, weight));
      auto counted = exists_at;
      if (losses.counts) counted = b.binary<"and">(counted, *losses.counts);
      std::vector<Scalar<double>> sums{b.sum_all(b.multiply(values, weight)), b.sum_all(b.convert<double>(counted))};
      auto const prediction = activated<Out>(b, z, place);
      std::apply(
          [&](auto const&... metric) { (add_metric(b, metric, prediction, target, weight, exists_at, sums), ...); },
          out.metrics);
      for (auto const& sum : sums) totals.push_back(b.reshape(sum, AnyExtents{{1}}));
      // Rows of zeros may be where a formula has no value, so that their weight of 0 is not enough.
      auto const& gradient = losses.gradient;
      auto const masked =
          b.select(b.repeat_back(exists_at, gradient.extents), gradient, b.constant_like<T>(T{0}, gradient));
      gradients.push_back(list_values<T>(masked)[0]);
    });
    return {std::move(gradients), {{}, b.concatenate(totals).id}};
  }

  /// Predictions as (rows, elements of all outputs).
  template <class Y>
  Value<T, AnyExtents> predictions(Builder& b, Y const& y) const {
    AnyExtents const all{{rows_, model_.output_size()}};
    if constexpr (!Model::several_outputs) {
      using E = typename Model::OutputExtents;
      Value<T, AnyExtents> result{};
      auto const only = list_values<T>(y)[0];
      model_.head().for_each_output([&]<class Out>(Out const&, auto const&, Place const& place) {
        result = b.reshape(activated<Out>(b, by_position<E>(b, only, place), place), all);
      });
      return result;
    } else {
      auto const of_rows = [&](auto const& part) {
        return b.reshape(part, Extents<dynamic, dynamic>{{rows_, without_front(part.extents).size()}});
      };
      auto parts = std::apply([&](auto const&... part) { return std::array{of_rows(part)...}; }, y);
      if constexpr (Model::on_logits)
        model_.head().for_each_output([&]<class Out, class E>(Out const&, E const&, Place const& place) {
          auto& part = parts[place.index];
          part = b.reshape(activated<Out>(b, by_position<E>(b, part, place), place), part.extents);
        });
      Extents<dynamic, dynamic> const joined{{rows_, model_.output_size()}};
      auto const y_of_rows =
          std::apply([&](auto const&... part) { return b.concatenate_back(joined, part...); }, parts);
      return {all, y_of_rows.id};
    }
  }

 private:
  Positions positions(Place const& place) const { return {{rows_ * place.positions}}; }

  /// Values by position from values by row.
  template <class V>
  Value<V, Positions> of_rows(Builder& b, Value<V, Positions> const& rows, Place const& place) const {
    if (place.positions == 1) return rows;
    return b.reshape(b.repeat_back(rows, Extents<dynamic, dynamic>{{rows_, place.positions}}), positions(place));
  }

  /// An output of extents E as (positions, elements of a position).
  template <class E, class V, class F>
  auto by_position(Builder& b, Value<V, F> const& y, Place const& place) const {
    constexpr std::size_t width = E::static_extents[E::rank - 1];
    return b.reshape(y, Extents<dynamic, width>{{rows_ * place.positions, place.size}});
  }

  /// The targets of an output: (positions), or (positions, elements of a position).
  template <class Target, class E, class Batch>
  auto target_of(Builder& b, Batch const& batch, Place const& place) const {
    if constexpr (!Arguments::joined_targets) {
      return batch.y;
    } else {
      auto const own = b.columns(batch.y, place.target, Extents<dynamic, dynamic>{{rows_, place.target_size}});
      if constexpr (!std::is_same_v<Target, ClassIndex>)
        return by_position<E>(b, own, place);
      else if constexpr (std::is_same_v<L, std::int32_t>)
        return b.reshape(own, positions(place));
      else
        return b.convert<std::int32_t>(b.reshape(own, positions(place)));
    }
  }

  /// An output of the model from its loss's input, which may be logits.
  template <class Out, class Z>
  Z activated(Builder& b, Z const& z, [[maybe_unused]] Place const& place) const {
    if constexpr (Model::on_logits && requires { typename Out::Loss::link; }) {
      using Link = typename Out::Loss::link;
      if ((Model::outputs_on_logits >> place.index & 1) != 0) return ActivationLowering<Link>::forward(b, Link{}, z);
    }
    return z;
  }

  template <class Metric, class Y, class Target, class V>
  static void add_metric(Builder& b, Metric const& metric, Y const& prediction, Target const& target, V const& weight,
                         Existing const& exists, std::vector<Scalar<double>>& sums) {
    static_assert(
        !requires { MetricLowering<Metric>::missing; },
        "trireme: this metric cannot be compiled for a PJRT device, since it has no MetricLowering");
    auto const counted = is_weighted<Metric> ? weight : b.convert<double>(exists);
    for (auto const& sum : MetricLowering<Metric>::sums(b, metric, prediction, target, counted, exists))
      sums.push_back(sum);
  }

  Model const& model_;
  std::size_t rows_;
};

}  // namespace trireme::lowering
