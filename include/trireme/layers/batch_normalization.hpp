/// BatchNormalization: each feature to mean 0 and variance 1 over the rows of a batch, then scaled and shifted.
#pragma once

#include <array>
#include <cstddef>
#include <string_view>
#include <type_traits>

#include "trireme/backend/execution/statistics_scope.hpp"
#include "trireme/core/config.hpp"
#include "trireme/initializers/constant.hpp"
#include "trireme/layers/batch_normalization_kernels.hpp"
#include "trireme/layers/layer.hpp"
#include "trireme/layers/layer_name.hpp"
#include "trireme/layers/options.hpp"
#include "trireme/layers/scale_and_shift.hpp"

namespace trireme {

/// Normalization over the rows of a batch, y = gamma (x - mean) / sqrt(variance + epsilon) + beta, for each feature:
/// `BatchNormalization<>{}`; NoScale and NoCenter leave out gamma and beta, Axis<n> says where the features are.
///
/// Input and output (..., features), or with Axis<n> features as n-th axis of a sample, from 1. Parameters gamma and
/// beta (features), states moving_mean and moving_variance (features). While training the statistics are those of the
/// replica's rows (of all rows, under `SyncBatchNormalization`), and the moving ones follow, moving = momentum * moving
/// + (1 - momentum) * batch: as means over the replicas, weighted with their rows. Otherwise, and while Frozen, the
/// moving statistics are used. Variances are the biased ones, in units of x squared, as is `epsilon`. Designated
/// initializers name the members in this order. Source: Ioffe & Szegedy, Batch Normalization, 2015; Keras
/// `BatchNormalization`.
///
/// Compile-time errors: another option, or one given twice; Axis<n> beyond the axes of a sample.
/// \throws ValueError from `compile` if `momentum` is outside of [0, 1], or `epsilon` outside of (0, inf).
template <StatisticsScope Scope, class... Options>
struct BasicBatchNormalization {
  static constexpr StatisticsScope mixes_rows = Scope;
  using Chosen = detail::ChosenOptions<detail::Takes<NoScale, NoCenter, detail::AnyNumber<Axis>>, Options...>;
  static_assert(detail::NoMisfit<typename Chosen::Misfit>,
                "trireme: BatchNormalization takes as options NoScale, NoCenter and Axis<n>, each once at most");
  static constexpr bool scale = !Chosen::template has<NoScale>;
  static constexpr bool center = !Chosen::template has<NoCenter>;
  static constexpr std::size_t axis = Chosen::template number<Axis, 0>;  ///< 0: the last
  static constexpr std::string_view class_name = "BatchNormalization";
  static constexpr std::size_t gamma = detail::gamma_index<scale>, beta = detail::beta_index<scale, center>;
  enum States : std::size_t { moving_mean, moving_variance };
  enum Saved : std::size_t { batch_mean, inverse_deviation, sums };

  double momentum = 0.99;
  double epsilon = 1e-3;
  Initializer gamma_initializer = Ones{};
  Initializer beta_initializer = Zeros{};
  Regularizer gamma_regularizer{};
  Regularizer beta_regularizer{};
  LayerName name{};

  void config(Config& c) const {
    c("momentum", momentum, intervals::fraction);
    c("epsilon", epsilon, intervals::positive);
  }

  template <class In>
  constexpr auto output(In const& in) const {
    static_assert(axis <= In::rank, "trireme: BatchNormalization's Axis<n> counts the axes of a sample from 1");
    return in;
  }

  template <class In>
  constexpr auto parameters(In const& in) const {
    return detail::scale_and_shift<scale, center>({features(in)});
  }
  Initializer initializer(std::size_t i) const { return i == gamma ? gamma_initializer : beta_initializer; }
  Regularizer regularizer(std::size_t i) const { return i == gamma ? gamma_regularizer : beta_regularizer; }

  template <class In>
  constexpr auto states(In const& in) const {
    return std::array{StateShape{"moving_mean", {features(in)}, 0, momentum},
                      StateShape{"moving_variance", {features(in)}, 1, momentum}};
  }

  template <class T, class Context, class In>
  constexpr auto saved(In const& in, std::size_t) const {
    return std::array{SavedTensor{features(in)}, SavedTensor{features(in)},
                      SavedTensor::of<double>(2 * features(in) + 1)};
  }

  template <class Context, class In, class T>
  void forward(Context& context, In const& in, Forward<T> const& f) const {
    std::size_t const n = features(in), rows = f.rows * in.size() / n;
    auto const at = place(in);
    using At = std::decay_t<decltype(at)>;
    T *const mean = f.saved[batch_mean], *const inverse = f.saved[inverse_deviation];
    if (f.training && !f.frozen) {
      double* const totals = saved_as<double>(f, sums);
      context.sum_columns("trireme::batch_sums", rows, n, kernels::Values<T, At>{f.x, at}, totals);
      context.for_each("trireme::count_rows", 1, kernels::SetCount{totals + n, static_cast<double>(rows)});
      context.cross_replica_sum(totals, n + 1, Scope);
      context.for_each("trireme::batch_mean", n, kernels::BatchMean<T>{totals, totals + n, mean});
      context.sum_columns("trireme::batch_sums", rows, n, kernels::Squares<T, At>{f.x, mean, at}, totals);
      context.cross_replica_sum(totals, n, Scope);
      double const share =
          f.keys.global_rows > 0 ? static_cast<double>(f.rows) / static_cast<double>(f.keys.global_rows) : 1.0;
      context.for_each(
          "trireme::batch_variance", n,
          kernels::BatchVariance<T>{totals, totals + n, mean, inverse, f.state_updates[moving_mean],
                                    f.state_updates[moving_variance], static_cast<T>(epsilon), static_cast<T>(share)});
    } else {
      context.for_each("trireme::moving_statistics", n,
                       kernels::MovingStatistics<T>{f.states[moving_mean], f.states[moving_variance], mean, inverse,
                                                    static_cast<T>(epsilon)});
    }
    context.for_each(
        "trireme::batch_normalization", rows, n,
        kernels::NormalizeColumns<T, At>{f.x, mean, inverse, f.parameters[gamma], f.parameters[beta], f.y, at});
  }

  template <class Context, class In, class T>
  void backward(Context& context, In const& in, Backward<T> const& b) const {
    std::size_t const n = features(in), rows = b.rows * in.size() / n;
    auto const at = place(in);
    using At = std::decay_t<decltype(at)>;
    T const *const mean = b.saved[batch_mean], *const inverse = b.saved[inverse_deviation];
    if (b.frozen) {
      if (b.dx)
        context.for_each("trireme::scale_gradient", rows, n,
                         kernels::ScaleColumns<T, At>{b.dy, inverse, b.parameters[gamma], b.dx, at});
      return;
    }
    // This slice's sums are its part of the gradients; over all rows of the scope they are what dx needs.
    double* const products = saved_as<double>(b, sums);
    double *const totals = products + n, *const count = products + 2 * n;
    context.sum_columns("trireme::batch_sums", rows, n, kernels::Products<T, At>{b.dy, b.x, mean, inverse, at},
                        products);
    context.sum_columns("trireme::batch_sums", rows, n, kernels::Values<T, At>{b.dy, at}, totals);
    if constexpr (scale)
      context.for_each("trireme::gamma_gradient", n, kernels::FromDouble<T>{products, b.gradients[gamma].values()});
    if constexpr (center)
      context.for_each("trireme::beta_gradient", n, kernels::FromDouble<T>{totals, b.gradients[beta].values()});
    context.for_each("trireme::count_rows", 1, kernels::SetCount{count, static_cast<double>(rows)});
    context.cross_replica_sum(products, 2 * n + 1, Scope);
    if (b.dx)
      context.for_each("trireme::batch_normalization_gradient", rows, n,
                       kernels::NormalizeColumnsGradient<T, At>{b.dy, b.x, mean, inverse, b.parameters[gamma], products,
                                                                totals, count, b.dx, at});
  }

 private:
  template <class In>
  static constexpr std::size_t features(In const& in) {
    return in[(axis == 0 ? In::rank : axis) - 1];
  }
  template <class In>
  static constexpr auto place(In const& in) {
    if constexpr (axis == 0 || axis == In::rank) {
      return kernels::LastAxis{features(in)};
    } else {
      std::size_t inner = 1;
      for (std::size_t i = axis; i < In::rank; ++i) inner *= in[i];
      return kernels::EarlierAxis{features(in), inner};
    }
  }
};

/// Batch normalization with the statistics of each replica's rows, as Keras's `BatchNormalization`. Extents, parameters
/// and errors are those of BasicBatchNormalization.
template <class... Options>
using BatchNormalization = BasicBatchNormalization<StatisticsScope::replica, Options...>;

/// Batch normalization with the statistics of all rows of the global batch, so that the result does not depend on how
/// the batch is split; Keras's `BatchNormalization(synchronized=True)`. Each step sums over all processes, forward and
/// backward. Extents, parameters and errors are those of BasicBatchNormalization.
template <class... Options>
using SyncBatchNormalization = BasicBatchNormalization<StatisticsScope::global, Options...>;

}  // namespace trireme
