/// What a layer says of one of its parameters.
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

}  // namespace trireme
