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

/// Weight of an output's loss in the sum that training minimizes, loss = sum of weight_i loss_i; Keras's
/// `loss_weights`.
/// \throws ValueError from `compile` if it is not finite.
struct LossWeight {
  double value = 1;
};

/// Loss, weight and metrics of one output of a model. Made by `output<"name">(loss, metrics...)`.
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

/// Loss and metrics of one output of a model, under a name:
/// `output<"price">(MeanSquaredError{}, LossWeight{0.3}, metrics::MeanAbsoluteError{})`. Logged are `price_loss`,
/// without its weight, and `price_mean_absolute_error`.
///
/// \param given  the loss, then metrics, and a LossWeight anywhere among them.
///
/// Compile-time errors: no loss, or something else in its place; two LossWeights; an argument that is no metric.
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

/// Losses and metrics of a model with several outputs, in their order, in place of the loss in `compile`.
///
///     Outputs{output<"price">(MeanSquaredError{}, LossWeight{0.3}), output<"kind">(BinaryCrossentropy{}, Accuracy{})}
///
/// An output that ends in the activation which its loss would undo (Softmax, Sigmoid) trains on its logits, also where
/// the last node of a Graph hands on the value of another, as `node<"all", "a", "b">(Skip{})` does, and no other node
/// takes that value.
///
/// Source: the dictionaries of losses and metrics in Keras's `compile`.
///
/// Compile-time errors: no output, or other than one for each output of the model; metrics of `compile` beside it; two
/// values of the same name in the logs; a loss or metric that does not take the output's extents.
/// \throws ValueError from `compile` if class indices beside dense targets exceed the integers that the model's scalar
/// holds exactly (2^24 in float, 2^53 in double).
template <class... O>
struct Outputs {
  static_assert(sizeof...(O) > 0, "trireme: Outputs needs output<\"name\">(loss) for each output of the model");
  std::tuple<O...> all;

  /// Losses and metrics, one `output` for each output of the model.
  constexpr explicit Outputs(O const&... output) : all{output...} {}
};

}  // namespace trireme
