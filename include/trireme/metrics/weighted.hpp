/// Weighted: a metric that counts each sample with its weight (Keras's `weighted_metrics`).
#pragma once

namespace trireme {

/// Other metrics ignore sample weights: the caller of `update` gives them weight 1 unless the metric is weighted.
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
