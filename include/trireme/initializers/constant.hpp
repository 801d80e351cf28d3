/// Constant values: Zeros, Ones, Constant.
#pragma once

#include <algorithm>
#include <span>

#include "trireme/core/config.hpp"
#include "trireme/initializers/initializer.hpp"

namespace trireme {

/// The same value everywhere, for a parameter of any shape.
/// \throws ValueError from compile, if value is not finite.
struct Constant {
  double value = 0;
  void config(Config& c) const { c("value", value, intervals::finite); }
  void operator()(std::span<double> out, InitializerContext const&) const { std::fill(out.begin(), out.end(), value); }
};

/// 0 everywhere, for a parameter of any shape; the default of biases.
struct Zeros {
  void operator()(std::span<double> out, InitializerContext const& context) const { Constant{0}(out, context); }
};

/// 1 everywhere, for a parameter of any shape.
struct Ones {
  void operator()(std::span<double> out, InitializerContext const& context) const { Constant{1}(out, context); }
};

}  // namespace trireme
