/// Gamma and beta of the normalizations, each optional.
#pragma once

#include <array>

#include "trireme/layers/parameter.hpp"
#include "trireme/tensor/shape.hpp"

namespace trireme::detail {

/// Indices of the parameters; those of a parameter that is left out name none.
template <bool Scale>
inline constexpr std::size_t gamma_index = Scale ? 0 : most_layer_tensors;
template <bool Scale, bool Center>
inline constexpr std::size_t beta_index = Center ? (Scale ? 1 : 0) : most_layer_tensors;

/// The parameters in Keras's order.
template <bool Scale, bool Center>
constexpr auto scale_and_shift(Shape const& shape) {
  ParameterShape const gamma{"gamma", shape}, beta{"beta", shape};
  if constexpr (Scale && Center)
    return std::array{gamma, beta};
  else if constexpr (Scale)
    return std::array{gamma};
  else if constexpr (Center)
    return std::array{beta};
  else
    return std::array<ParameterShape, 0>{};
}

}  // namespace trireme::detail
