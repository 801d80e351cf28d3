/// VarianceScaling: numbers whose variance follows from the number of inputs or outputs.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>

#include "trireme/core/config.hpp"
#include "trireme/core/streams.hpp"
#include "trireme/initializers/initializer.hpp"

namespace trireme {

/// The count by which VarianceScaling divides: inputs, outputs or their mean.
enum class FanMode : std::int32_t { fan_in, fan_out, fan_avg };
/// The distribution of VarianceScaling's numbers.
enum class Distribution : std::int32_t { truncated_normal, untruncated_normal, uniform };

namespace detail {

/// Standard normal, drawn anew until it is within two standard deviations.
inline double truncated_normal(ParameterStream const& stream, std::uint64_t element) {
  for (std::uint64_t attempt = 0;; ++attempt)
    if (double const value = stream.normal(element, attempt); std::abs(value) <= 2) return value;
}

}  // namespace detail

/// Keras's VarianceScaling: variance scale / n, with n from the fans of the parameter.
/// Designated initializers name the members in this order.
struct VarianceScaling {
  double scale = 1;
  FanMode mode = FanMode::fan_in;
  Distribution distribution = Distribution::truncated_normal;

  void config(Config& c) const {
    c("scale", scale, intervals::positive);
    c("mode", mode);
    c("distribution", distribution);
  }

  void operator()(std::span<double> out, InitializerContext const& context) const {
    Fans const fans = compute_fans(context.extents);
    double const n = mode == FanMode::fan_in ? fans.in : mode == FanMode::fan_out ? fans.out : (fans.in + fans.out) / 2;
    double const variance = scale / std::max(1.0, n);
    ParameterStream const stream(context.seed, context.path);
    for (std::size_t e = 0; e < out.size(); ++e) out[e] = draw(stream, e, variance);
  }

 private:
  double draw(ParameterStream const& stream, std::size_t e, double variance) const {
    // Cutting a normal distribution at two standard deviations leaves it this standard deviation.
    constexpr double truncated_deviation = 0.87962566103423978;
    switch (distribution) {
      case Distribution::truncated_normal:
        return std::sqrt(variance) / truncated_deviation * detail::truncated_normal(stream, e);
      case Distribution::untruncated_normal:
        return std::sqrt(variance) * stream.normal(e);
      default:
        return std::sqrt(3 * variance) * (2 * stream.uniform(e) - 1);
    }
  }
};

}  // namespace trireme
