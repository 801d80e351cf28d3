/// Lion: steps of one size, in the direction of the sign of the momentum.
/// Source: Chen et al., arXiv:2302.06675.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include <Kokkos_Macros.hpp>

#include "trireme/backend/simd/math.hpp"
#include "trireme/core/config.hpp"
#include "trireme/core/fixed_string.hpp"
#include "trireme/schedules/rate.hpp"

namespace trireme {

template <class T>
struct LionStep;

/// Lion: w -= rate sign(beta_1 m + (1 - beta_1) g), then m = beta_2 m + (1 - beta_2) g.
///
/// Weights w of any shape; the state is m, of the shape of w. Weight decay first takes rate weight_decay w from w.
/// Source: Chen et al., arXiv:2302.06675, as Keras's Lion. Designated initializers name the members in this order.
/// \throws ValueError from compile, unless the betas are in (0, 1], the others not negative and finite, and at most one
/// limit of clipping is not 0.
struct Lion {
  static constexpr FixedString name = "lion";

  Rate learning_rate = 1e-3;
  double beta_1 = 0.9, beta_2 = 0.99;
  double weight_decay = 0;
  double clipnorm = 0, global_clipnorm = 0, clipvalue = 0;  ///< at most one of them; 0: off

  void config(Config& c) const {
    c("beta_1", beta_1, intervals::nonzero_fraction);
    c("beta_2", beta_2, intervals::nonzero_fraction);
  }

  constexpr std::size_t slots() const { return 1; }
  double initial(std::size_t) const { return 0; }
  std::string_view slot_name(std::size_t) const { return "momentum"; }

  template <class T>
  LionStep<T> step(std::uint64_t /*iteration*/, double rate) const {
    return {.rate = static_cast<T>(rate),
            .beta_1 = static_cast<T>(beta_1),
            .one_minus_beta_1 = static_cast<T>(1 - beta_1),
            .beta_2 = static_cast<T>(beta_2),
            .one_minus_beta_2 = static_cast<T>(1 - beta_2),
            .decay = static_cast<T>(weight_decay * rate)};
  }
};

/// Lion's step on one element, or on a vector of elements.
template <class T>
struct LionStep {
  static constexpr bool takes_vectors = true;

  T rate, beta_1, one_minus_beta_1, beta_2, one_minus_beta_2, decay;

  template <class Value, class Pointer>
  KOKKOS_FUNCTION void operator()(std::size_t i, Pointer w, Value gradient, Pointer const* slots) const {
    Value const m = slots[0][i];
    Value const direction = m * beta_1 + gradient * one_minus_beta_1;
    Value const zero{}, one = zero + T(1);
    Value const negative = math::where(direction < zero, -one, direction);  // a NaN stays a NaN
    Value const sign = math::where(direction > zero, one, negative);
    slots[0][i] = math::flush_subnormals<T>(m * beta_2 + gradient * one_minus_beta_2);
    w[i] = w[i] - w[i] * decay - rate * sign;
  }
};

}  // namespace trireme
