/// Losses and metrics of a model with several outputs, each under its name.
///
///     compile(strategy, model, Adam{},
///             Outputs{output<"price">(MeanSquaredError{}, LossWeight{0.3}, metrics::MeanAbsoluteError{}),
///                     output<"kind">(SparseCategoricalCrossentropy{.from_logits = true}, Accuracy{})});
///
/// Logged are, as in Keras, `loss` (the weighted sum, and penalties), `price_loss` and `kind_loss` (each without its
/// weight), and the metrics, `price_mean_absolute_error` and `kind_accuracy`.
#pragma once

#include <cstddef>
#include <tuple>
#include <type_traits>
#include <utility>

#include "trireme/core/config.hpp"
#include "trireme/core/fixed_string.hpp"
#include "trireme/core/name.hpp"
#include "trireme/metrics/metric.hpp"

namespace trireme {

/// Of an output's loss in the sum that training makes small; Keras's `loss_weights`.
struct LossWeight {
  double value = 1;
};

/// Made by `output<"name">(loss, metrics...)`.
template <class Named, class LossType, class... Metrics>
struct Output {
  static constexpr FixedString name = Named::name;
  using Loss = LossType;

  Loss loss;
  double weight;
  std::tuple<Metrics...> metrics;

  void config(Config& c) const {
    c("loss", loss);
    c("weight", weight, intervals::finite);
    std::apply([&](auto const&... metric) { (c("metric", metric), ...); }, metrics);
  }
};

/// An output of a model, under a name, with its loss and metrics.
///
/// \param rest  metrics, and a LossWeight anywhere among them.
template <FixedString Text, class... LossAndRest>
constexpr auto output(LossAndRest... given) {
  static_assert(sizeof...(LossAndRest) > 0, "trireme: an output needs a loss: output<\"name\">(MeanSquaredError{})");
  return [&]<char... Name, class L, class... Rest>(detail::Name<Name...>, L const& loss, Rest const&... rest) {
    static_assert(Loss<L>, "trireme: output<\"name\">(loss, ...) takes the loss first, then metrics and a LossWeight");
    static_assert((0 + ... + std::is_same_v<Rest, LossWeight>) <= 1, "trireme: an output has one LossWeight at most");
    double weight = 1;
    [[maybe_unused]] auto const keep = [&weight]<class R>(R const& r) {
      if constexpr (std::is_same_v<R, LossWeight>) {
        weight = r.value;
        return std::tuple<>{};
      } else {
        static_assert(detail::require_metric_argument<R>());
        return std::tuple<R>{r};
      }
    };
    return std::apply(
        [&]<class... Metrics>(Metrics const&... metric) {
          return Output<detail::Name<Name...>, L, Metrics...>{loss, weight, {metric...}};
        },
        std::tuple_cat(keep(rest)...));
  }(detail::name_of<Text>(), given...);
}

/// In the order of the model's outputs.
template <class... O>
struct Outputs {
  static_assert(sizeof...(O) > 0, "trireme: Outputs needs output<\"name\">(loss) for each output of the model");
  std::tuple<O...> all;

  constexpr explicit Outputs(O const&... output) : all{output...} {}
};

}  // namespace trireme
