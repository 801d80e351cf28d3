/// RandomNormal: normally distributed numbers.
#pragma once

#include <cstddef>
#include <span>

#include "trireme/core/config.hpp"
#include "trireme/core/streams.hpp"
#include "trireme/initializers/initializer.hpp"

namespace trireme {

/// Normally distributed numbers of this mean and standard deviation, for a parameter of any shape.
///
/// The distribution is that of Keras's RandomNormal; the numbers are the library's own.
/// \throws ValueError from compile, if mean is not finite, or stddev negative or infinite.
struct RandomNormal {
  double mean = 0, stddev = 0.05;

  void config(Config& c) const {
    c("mean", mean, intervals::finite);
    c("stddev", stddev, intervals::not_negative);
  }

  void operator()(std::span<double> out, InitializerContext const& context) const {
    ParameterStream const stream(context.seed, context.path);
    for (std::size_t e = 0; e < out.size(); ++e) out[e] = mean + stddev * stream.normal(e);
  }
};

}  // namespace trireme
