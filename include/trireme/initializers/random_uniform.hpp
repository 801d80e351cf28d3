/// RandomUniform: numbers evenly distributed over [minval, maxval).
#pragma once

#include <cstddef>
#include <span>

#include "trireme/core/config.hpp"
#include "trireme/core/streams.hpp"
#include "trireme/initializers/initializer.hpp"

namespace trireme {

/// Uniformly distributed numbers of [minval, maxval), for a parameter of any shape.
///
/// The distribution is that of Keras's RandomUniform; the numbers are the library's own.
/// \throws ValueError from compile, if one of them is not finite, or maxval is below minval.
struct RandomUniform {
  double minval = -0.05, maxval = 0.05;

  void config(Config& c) const {
    c("minval", minval, intervals::finite);
    c("maxval", maxval, intervals::at_least(minval));
  }

  void operator()(std::span<double> out, InitializerContext const& context) const {
    ParameterStream const stream(context.seed, context.path);
    for (std::size_t e = 0; e < out.size(); ++e) out[e] = minval + (maxval - minval) * stream.uniform(e);
  }
};

}  // namespace trireme
