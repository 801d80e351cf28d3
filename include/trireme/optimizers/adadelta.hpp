/// Adadelta: steps in the unit of the weight, from running means of squared gradients and squared steps.
/// Source: Zeiler, arXiv:1212.5701.
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
struct AdadeltaStep;

/// Adadelta: w -= rate d with the step d = sqrt(u + epsilon) / sqrt(a + epsilon) g, in the unit of the weight.
///
/// a = rho a + (1 - rho) g^2 is the running mean of the squared gradient, u = rho u + (1 - rho) d^2 that of the squared
/// steps. Weights w of any shape; the state is a and u, of the shape of w. Weight decay first takes rate weight_decay w
/// from w. Source: Zeiler, arXiv:1212.5701, as Keras's Adadelta. Designated initializers name the members in this
/// order.
/// \throws ValueError from compile, unless rho is in [0, 1), epsilon is positive, the others not negative, all finite,
/// and at most one limit of clipping is not 0.
struct Adadelta {
  static constexpr FixedString name = "adadelta";

  Rate learning_rate = 1e-3;
  double rho = 0.95, epsilon = 1e-7;
  double weight_decay = 0;
  double clipnorm = 0, global_clipnorm = 0, clipvalue = 0;  ///< at most one of them; 0: off

  void config(Config& c) const {
    c("rho", rho, intervals::below_one);
    c("epsilon", epsilon, intervals::positive);
  }

  static constexpr std::size_t interleaved_slots = 2;  ///< in files: both of a variable side by side, as in Keras
  constexpr std::size_t slots() const { return 2; }
  double initial(std::size_t) const { return 0; }
  std::string_view slot_name(std::size_t slot) const {
    return slot == 0 ? "accumulated_grad" : "accumulated_delta_var";
  }

  template <class T>
  AdadeltaStep<T> step(std::uint64_t /*iteration*/, double rate) const {
    return {.rate = static_cast<T>(rate),
            .rho = static_cast<T>(rho),
            .one_minus_rho = static_cast<T>(1 - rho),
            .epsilon = static_cast<T>(epsilon),
            .decay = static_cast<T>(weight_decay * rate)};
  }
};

/// Adadelta's step on one element, or on a vector of elements.
template <class T>
struct AdadeltaStep {
  static constexpr bool takes_vectors = true;

  T rate, rho, one_minus_rho, epsilon, decay;

  template <class Value, class Pointer>
  KOKKOS_FUNCTION void operator()(std::size_t i, Pointer w, Value gradient, Pointer const* slots) const {
    Value const squares = math::flush_subnormals<T>(rho * slots[0][i] + one_minus_rho * gradient * gradient);
    Value const delta = -math::sqrt(slots[1][i] + epsilon) * gradient / math::sqrt(squares + epsilon);
    slots[0][i] = squares;
    slots[1][i] = math::flush_subnormals<T>(rho * slots[1][i] + one_minus_rho * delta * delta);
    w[i] = w[i] - w[i] * decay + rate * delta;
  }
};

}  // namespace trireme
