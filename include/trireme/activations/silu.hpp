/// SiLU (swish): x times its sigmoid.
#pragma once

#include <Kokkos_MathematicalFunctions.hpp>

#include "trireme/backend/simd/math.hpp"
#include "trireme/core/fixed_string.hpp"

namespace trireme {

/// Sigmoid linear unit (swish): y = x / (1 + exp(-x)).
///
/// Elementwise: the output has the shape of the input. LSTM and GRU do not take it, since its derivative does not
/// follow from its output. Source: Elfwing, Uchibe, Doya, arXiv:1702.03118, as Keras's silu.
struct SiLU {
  static constexpr FixedString name = "silu";
  static constexpr bool elementwise = true;
  static constexpr bool derivative_from_output = false;

  template <class T>
  KOKKOS_FUNCTION T operator()(T x) const {
    return x / (T(1) + math::exp(-x));
  }

  template <class T>
  KOKKOS_FUNCTION T derivative(T x) const {
    T const s = T(1) / (T(1) + math::exp(-x));
    return s * (T(1) + x * (T(1) - s));
  }
};

}  // namespace trireme
