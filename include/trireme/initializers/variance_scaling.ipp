/// Definitions of trireme/initializers/variance_scaling.hpp.
#pragma once

#include "trireme/initializers/variance_scaling.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>

#include "trireme/core/config.hpp"
#include "trireme/core/linkage.hpp"
#include "trireme/core/streams.hpp"
#include "trireme/initializers/initializer.hpp"

namespace trireme::detail {

TRIREME_INLINE double truncated_normal(ParameterStream const& stream, std::uint64_t element) {
  for (std::uint64_t attempt = 0;; ++attempt)
    if (double const value = stream.normal(element, attempt); std::abs(value) <= 2) return value;
}

}  // namespace trireme::detail

namespace trireme {

TRIREME_INLINE void VarianceScaling::config(Config& c) const {
  c("scale", scale, intervals::positive);
  c("mode", mode);
  c("distribution", distribution);
}

TRIREME_INLINE void VarianceScaling::operator()(std::span<double> out, InitializerContext const& context) const {
  Fans const fans = compute_fans(context.extents, context.input_axes);
  double const n = mode == FanMode::fan_in ? fans.in : mode == FanMode::fan_out ? fans.out : (fans.in + fans.out) / 2;
  double const variance = scale / std::max(1.0, n);
  ParameterStream const stream(context.seed, context.path);
  for (std::size_t e = 0; e < out.size(); ++e) out[e] = draw(stream, e, variance);
}

TRIREME_INLINE double VarianceScaling::draw(ParameterStream const& stream, std::size_t e, double variance) const {
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

}  // namespace trireme
