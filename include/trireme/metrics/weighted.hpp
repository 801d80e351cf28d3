/// Weighted: a metric that counts each sample with its weight (Keras's `weighted_metrics`).
#pragma once

namespace trireme {

/// A metric in which each position counts with its sample's weight: `Weighted{Accuracy{}}`, Keras's `weighted_metrics`.
///
/// Weights are (rows), one a sample; prediction, target, unit and errors are those of the metric, as is its name in the
/// logs. Other metrics ignore sample weights: `update` is called with weight 1 for them.
template <class Metric>
struct Weighted : Metric {
  static constexpr bool weighted = true;
};

template <class Metric>
Weighted(Metric) -> Weighted<Metric>;

/// True if a metric takes the weights.
template <class Metric>
inline constexpr bool is_weighted = requires { requires Metric::weighted; };

}  // namespace trireme
