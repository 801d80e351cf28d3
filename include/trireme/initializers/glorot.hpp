/// Glorot, He and Lecun initializers: VarianceScaling with the constants of their authors.
#pragma once

#include <span>

#include "trireme/initializers/variance_scaling.hpp"

namespace trireme {

/// U(-l, l), l = sqrt(6 / (fan_in + fan_out)), for a parameter of any shape, whose fans compute_fans counts.
///
/// Source: Glorot, Bengio, AISTATS 2010, as Keras's GlorotUniform.
struct GlorotUniform {
  void operator()(std::span<double> out, InitializerContext const& context) const {
    VarianceScaling{1, FanMode::fan_avg, Distribution::uniform}(out, context);
  }
};

/// Truncated normal numbers of variance 2 / (fan_in + fan_out), for a parameter of any shape.
///
/// Source: Glorot, Bengio, AISTATS 2010, as Keras's GlorotNormal.
struct GlorotNormal {
  void operator()(std::span<double> out, InitializerContext const& context) const {
    VarianceScaling{1, FanMode::fan_avg, Distribution::truncated_normal}(out, context);
  }
};

/// U(-l, l), l = sqrt(6 / fan_in), for a parameter of any shape.
///
/// Source: He et al., ICCV 2015, as Keras's HeUniform.
struct HeUniform {
  void operator()(std::span<double> out, InitializerContext const& context) const {
    VarianceScaling{2, FanMode::fan_in, Distribution::uniform}(out, context);
  }
};

/// Truncated normal numbers of variance 2 / fan_in, for a parameter of any shape.
///
/// Source: He et al., ICCV 2015, as Keras's HeNormal.
struct HeNormal {
  void operator()(std::span<double> out, InitializerContext const& context) const {
    VarianceScaling{2, FanMode::fan_in, Distribution::truncated_normal}(out, context);
  }
};

/// U(-l, l), l = sqrt(3 / fan_in), which has variance 1 / fan_in, for a parameter of any shape.
///
/// Source: LeCun et al., "Efficient BackProp", 1998, as Keras's LecunUniform.
struct LecunUniform {
  void operator()(std::span<double> out, InitializerContext const& context) const {
    VarianceScaling{1, FanMode::fan_in, Distribution::uniform}(out, context);
  }
};

/// Truncated normal numbers of variance 1 / fan_in, for a parameter of any shape.
///
/// Source: LeCun et al., "Efficient BackProp", 1998, as Keras's LecunNormal.
struct LecunNormal {
  void operator()(std::span<double> out, InitializerContext const& context) const {
    VarianceScaling{1, FanMode::fan_in, Distribution::truncated_normal}(out, context);
  }
};

}  // namespace trireme
