/// Glorot, He and Lecun initializers: VarianceScaling with the constants of their authors.
#pragma once

#include <span>

#include "trireme/initializers/variance_scaling.hpp"

namespace trireme {

/// U(-l, l), l = sqrt(6 / (fan_in + fan_out)). Glorot and Bengio, AISTATS 2010.
struct GlorotUniform {
  void operator()(std::span<double> out, InitializerContext const& context) const {
    VarianceScaling{1, FanMode::fan_avg, Distribution::uniform}(out, context);
  }
};

/// Truncated normal numbers of variance 2 / (inputs + outputs).
struct GlorotNormal {
  void operator()(std::span<double> out, InitializerContext const& context) const {
    VarianceScaling{1, FanMode::fan_avg, Distribution::truncated_normal}(out, context);
  }
};

/// U(-l, l), l = sqrt(6 / fan_in). He et al., ICCV 2015.
struct HeUniform {
  void operator()(std::span<double> out, InitializerContext const& context) const {
    VarianceScaling{2, FanMode::fan_in, Distribution::uniform}(out, context);
  }
};

/// Truncated normal numbers of variance 2 / inputs.
struct HeNormal {
  void operator()(std::span<double> out, InitializerContext const& context) const {
    VarianceScaling{2, FanMode::fan_in, Distribution::truncated_normal}(out, context);
  }
};

/// Uniform numbers of variance 1 / inputs.
struct LecunUniform {
  void operator()(std::span<double> out, InitializerContext const& context) const {
    VarianceScaling{1, FanMode::fan_in, Distribution::uniform}(out, context);
  }
};

/// Truncated normal numbers of variance 1 / inputs.
struct LecunNormal {
  void operator()(std::span<double> out, InitializerContext const& context) const {
    VarianceScaling{1, FanMode::fan_in, Distribution::truncated_normal}(out, context);
  }
};

}  // namespace trireme
