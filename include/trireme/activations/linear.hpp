/// Linear: the identity, for a layer without activation.
#pragma once

#include <Kokkos_Macros.hpp>

#include "trireme/core/fixed_string.hpp"

namespace trireme {

/// The identity, y = x, for a layer without activation.
///
/// Elementwise: the output has the shape of the input.
struct Linear {
  static constexpr FixedString name = "linear";
  static constexpr bool elementwise = true;
  static constexpr bool derivative_from_output = true;
  static constexpr bool non_decreasing = true;

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
