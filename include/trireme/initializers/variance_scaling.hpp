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

/// Keras's VarianceScaling: variance scale / n, with n from the fans of the parameter.
/// Designated initializers name the members in this order.
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
