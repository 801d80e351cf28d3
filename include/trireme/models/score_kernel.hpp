/// Loss, its gradient and the metrics of all positions, in one pass over the model's output.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include <Kokkos_Macros.hpp>

#include "trireme/losses/targets.hpp"
#include "trireme/metrics/weighted.hpp"

namespace trireme::kernels {

/// Metrics side by side, usable on a device; their states lie one after the other.
template <class... Metrics>
struct MetricPack {
  static constexpr std::size_t width = 0;
  template <class T, class L>
  KOKKOS_FUNCTION void update(T const*, L const*, std::size_t, double, double*) const {}
};

template <class First, class... Rest>
struct MetricPack<First, Rest...> {
  static constexpr std::size_t width = First::state_size + MetricPack<Rest...>::width;
  First first;
  MetricPack<Rest...> rest;

  template <class T, class L>
  KOKKOS_FUNCTION void update(T const* prediction, L const* target, std::size_t size, double weight,
                              double* state) const {
    first.update(prediction, target, size, is_weighted<First> ? weight : 1.0, state);
    rest.update(prediction, target, size, weight, state + First::state_size);
  }
};

/// True if a position counts in the mean: all do, unless the loss leaves some out (`counts(target)`).
template <class Loss, class L>
KOKKOS_INLINE_FUNCTION bool counts_position(Loss const& loss, L const* target) {
  if constexpr (requires { loss.counts(target); })
    return loss.counts(target);
  else
    return true;
}

inline MetricPack<> pack_metrics() { return {}; }
template <class First, class... Rest>
MetricPack<First, Rest...> pack_metrics(First const& first, Rest const&... rest) {
  return {first, pack_metrics(rest...)};
}

/// Sums of one position: [loss, positions, metric states...].
template <class T, class L, class Loss, class... Metrics>
struct Score {
  static constexpr std::size_t width = 2 + MetricPack<Metrics...>::width;

  Loss loss;
  MetricPack<Metrics...> metrics;
  T const* prediction;  ///< of the loss
  T const* output;      ///< of the metrics
  L const* target;
  double const* weight;  ///< one a row, or null
  std::size_t size;      ///< of a position
  std::size_t positions_per_row;
  T scale;      ///< 1 / the number of positions that the mean is over
  T* gradient;  ///< null: not needed

  KOKKOS_FUNCTION void operator()(std::size_t position, double* sums) const {
    T const* const p = prediction + position * size;
    L const* const t = target + position * (std::is_same_v<typename Loss::target, ClassIndex> ? 1 : size);
    double const w = weight ? weight[position / positions_per_row] : 1.0;
    T const value = loss(p, t, size, scale * static_cast<T>(w), gradient ? gradient + position * size : nullptr);
    sums[0] += w * static_cast<double>(value);
    sums[1] += counts_position(loss, t) ? 1 : 0;
    metrics.update(output + position * size, t, size, w, sums + 2);
  }
};

/// The target at a position as losses and metrics take it.
template <class Target, class L>
struct TargetAt {
  L const* place;
  KOKKOS_FUNCTION L const* get() const { return place; }
};
/// A class index that is kept in a floating-point scalar.
template <class L>
  requires(!std::is_same_v<L, std::int32_t>)
struct TargetAt<ClassIndex, L> {
  std::int32_t index;
  KOKKOS_FUNCTION explicit TargetAt(L const* place) : index(static_cast<std::int32_t>(*place)) {}
  KOKKOS_FUNCTION std::int32_t const* get() const { return &index; }
};

/// The targets of one output, where a row holds those of several one after the other.
template <class L>
struct OutputTargets {
  L const* first;  ///< of the first row
  std::size_t row_size;
  std::size_t positions_per_row;
  std::size_t size;  ///< of a position

  template <class Target>
  KOKKOS_FUNCTION TargetAt<Target, L> at(std::size_t position) const {
    return TargetAt<Target, L>{first + position / positions_per_row * row_size + position % positions_per_row * size};
  }
};

/// Sums of one position of one of several outputs: [loss, positions, metric states...].
template <class T, class L, class Loss, class... Metrics>
struct ScoreOutput {
  static constexpr std::size_t width = 2 + MetricPack<Metrics...>::width;

  Loss loss;
  MetricPack<Metrics...> metrics;
  T const* prediction;  ///< of the loss
  T const* output;      ///< of the metrics
  OutputTargets<L> targets;
  double const* weight;  ///< one a row, or null
  std::size_t size;      ///< of a position
  T scale;               ///< the output's weight / the number of positions that its mean is over
  T* gradient;           ///< null: not needed

  KOKKOS_FUNCTION void operator()(std::size_t position, double* sums) const {
    auto const target = targets.template at<typename Loss::target>(position);
    double const w = weight ? weight[position / targets.positions_per_row] : 1.0;
    T const value = loss(prediction + position * size, target.get(), size, scale * static_cast<T>(w),
                         gradient ? gradient + position * size : nullptr);
    sums[0] += w * static_cast<double>(value);
    sums[1] += counts_position(loss, target.get()) ? 1 : 0;
    metrics.update(output + position * size, target.get(), size, w, sums + 2);
  }
};

}  // namespace trireme::kernels
