/// Linear: the identity, for a layer without activation.
#pragma once

#include <type_traits>

#include <Kokkos_Macros.hpp>

#include "trireme/activations/activation.hpp"
#include "trireme/core/fixed_string.hpp"

namespace trireme {

/// `Linear{}`; of other activations it is not made, since a layer's activation is an argument of its template.
struct Linear {
  static constexpr FixedString name = "linear";
  static constexpr bool elementwise = true;
  static constexpr bool derivative_from_output = true;
  static constexpr bool non_decreasing = true;

  constexpr Linear() = default;
  /// Diagnostic for `Dense<64>{.activation = ReLU{}}`.
  template <ActivationFunction Other>
    requires(!std::is_same_v<Other, Linear>)
  constexpr Linear(Other const&) {
    static_assert(std::is_same_v<Other, Linear>,
                  "trireme: sizes and options of a layer are arguments of its template, not values: Dense<32, ReLU>{}, "
                  "Input<28, 28, 1>{}");
  }

  template <class T>
  KOKKOS_FUNCTION T operator()(T x) const {
    return x;
  }

  template <class T>
  KOKKOS_FUNCTION T derivative(T) const {
    return T(1);
  }
};

}  // namespace trireme
