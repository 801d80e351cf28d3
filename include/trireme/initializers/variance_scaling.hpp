/// VarianceScaling: numbers whose variance follows from the number of inputs or outputs.
#pragma once

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
double truncated_normal(ParameterStream const& stream, std::uint64_t element);

}  // namespace detail

/// Random numbers of variance scale / n, with n the fan in, the fan out or their mean, at least 1.
///
/// For a parameter of any shape, whose fans compute_fans counts. `uniform` is U(-l, l) with l = sqrt(3 scale / n); the
/// truncated normal distribution has this variance after truncation. Source: Keras's VarianceScaling. Designated
/// initializers name the members in this order.
/// \throws ValueError from compile, unless scale is positive and finite.
struct VarianceScaling {
  double scale = 1;
  FanMode mode = FanMode::fan_in;
  Distribution distribution = Distribution::truncated_normal;

  void config(Config& c) const;

  void operator()(std::span<double> out, InitializerContext const& context) const;

 private:
  double draw(ParameterStream const& stream, std::size_t e, double variance) const;
};

}  // namespace trireme

#ifndef TRIREME_COMPILED
#include "trireme/initializers/variance_scaling.ipp"
#endif
