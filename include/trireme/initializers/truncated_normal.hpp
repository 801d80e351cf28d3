/// TruncatedNormal: normally distributed numbers, none further from the mean than two standard deviations.
#pragma once

#include <cstddef>
#include <span>

#include "trireme/core/config.hpp"
#include "trireme/core/streams.hpp"
#include "trireme/initializers/initializer.hpp"
#include "trireme/initializers/variance_scaling.hpp"

namespace trireme {

/// Normally distributed numbers, drawn anew until within two standard deviations of the mean, for a parameter of any
/// shape.
///
/// The distribution is that of Keras's TruncatedNormal; the numbers are the library's own.
/// \throws ValueError from compile, if mean is not finite, or stddev negative or infinite.
struct TruncatedNormal {
  double mean = 0, stddev = 0.05;  ///< of the distribution before it is cut

  void config(Config& c) const {
    c("mean", mean, intervals::finite);
    c("stddev", stddev, intervals::not_negative);
  }

  void operator()(std::span<double> out, InitializerContext const& context) const {
    ParameterStream const stream(context.seed, context.path);
    for (std::size_t e = 0; e < out.size(); ++e) out[e] = mean + stddev * detail::truncated_normal(stream, e);
  }
};

}  // namespace trireme
