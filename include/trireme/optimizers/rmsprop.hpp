/// RMSprop: the gradient divided by the root of the running mean of its square.
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
struct RMSpropStep;

/// RMSprop: w -= rate g / sqrt(v + epsilon), with the running mean v = rho v + (1 - rho) g^2.
///
/// With `centered` v - a^2 in the place of v, where a = rho a + (1 - rho) g; with momentum m = momentum m + (that
/// step), then w -= m. Weights w of any shape; the state is v, m if momentum is not 0, and a if centered, each of the
/// shape of w. Weight decay first takes rate weight_decay w from w. Source: Tieleman, Hinton, Coursera lecture 6.5
/// (2012), as Keras's RMSprop. Designated initializers name the members in this order.
/// \throws ValueError from compile, unless rho is in [0, 1), momentum in [0, 1], epsilon positive, the others not
/// negative, all finite, and at most one limit of clipping is not 0.
struct RMSprop {
  static constexpr FixedString name = "rmsprop";

  Rate learning_rate = 1e-3;
  double rho = 0.9, momentum = 0, epsilon = 1e-7;
  bool centered = false;  ///< divide by the gradient's standard deviation
  double weight_decay = 0;
  double clipnorm = 0, global_clipnorm = 0, clipvalue = 0;  ///< at most one of them; 0: off

  void config(Config& c) const {
    c("rho", rho, intervals::below_one);
    c("momentum", momentum, intervals::fraction);
    c("epsilon", epsilon, intervals::positive);
    c("centered", centered);
  }

  constexpr std::size_t slots() const { return 1 + (has_momentum() ? 1 : 0) + (centered ? 1 : 0); }
  double initial(std::size_t) const { return 0; }
  std::string_view slot_name(std::size_t slot) const {
    return slot == 0 ? "velocity" : slot == 1 && has_momentum() ? "momentum" : "average_gradient";
  }

  template <class T>
  RMSpropStep<T> step(std::uint64_t /*iteration*/, double rate) const {
    return {.rate = static_cast<T>(rate),
            .rho = static_cast<T>(rho),
            .one_minus_rho = static_cast<T>(1 - rho),
            .momentum = static_cast<T>(has_momentum() ? momentum : 0),
            .epsilon = static_cast<T>(epsilon),
            .decay = static_cast<T>(weight_decay * rate),
            .has_momentum = has_momentum(),
            .centered = centered};
  }

 private:
  constexpr bool has_momentum() const { return momentum > 0; }
};

/// RMSprop's step on one element, or on a vector of elements.
template <class T>
struct RMSpropStep {
  static constexpr bool takes_vectors = true;

  T rate, rho, one_minus_rho, momentum, epsilon, decay;
  bool has_momentum, centered;

  template <class Value, class Pointer>
  KOKKOS_FUNCTION void operator()(std::size_t i, Pointer w, Value gradient, Pointer const* slots) const {
    Value const weight = w[i] - w[i] * decay;
    Value const velocity = math::flush_subnormals<T>(rho * slots[0][i] + one_minus_rho * gradient * gradient);
    slots[0][i] = velocity;
    Value variance = velocity;
    if (centered) {
      Pointer const average = slots[has_momentum ? 2 : 1];
      Value const mean = math::flush_subnormals<T>(rho * average[i] + one_minus_rho * gradient);
      average[i] = mean;
      variance -= mean * mean;
    }
    Value increment = rate * gradient / math::sqrt(variance + epsilon);
    if (has_momentum) {
      increment = math::flush_subnormals<T>(increment + momentum * slots[1][i]);
      slots[1][i] = increment;
    }
    w[i] = weight - increment;
  }
};

}  // namespace trireme
