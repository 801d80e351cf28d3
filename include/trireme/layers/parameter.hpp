/// Description of one parameter of a layer.
#pragma once

#include <cstddef>
#include <string_view>

#include "trireme/initializers/initializer.hpp"
#include "trireme/layers/regularizer.hpp"
#include "trireme/tensor/shape.hpp"

namespace trireme {

/// Name and extents: constexpr where the layer's extents are.
struct ParameterShape {
  std::string_view name;
  Shape shape;
};

/// A state: numbers that training moves along without a gradient, such as moving averages. After a step
/// state = decay * state + (1 - decay) * the mean of what the step's forward stated, over the global batch's rows.
struct StateShape {
  std::string_view name;
  Shape shape;
  double initial = 0;
  double decay = 0;
};

}  // namespace trireme
