/// Adagrad: the gradient divided by the root of the sum of all its squares so far.
/// Source: Duchi, Hazan, Singer, JMLR 12 (2011).
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
struct AdagradStep;

/// Adagrad: w -= rate g / sqrt(a + epsilon), where a is the sum of all squared gradients g^2 so far.
///
/// Weights w of any shape; the state is a, of the shape of w, which begins with initial_accumulator_value. Weight decay
/// first takes rate weight_decay w from w. Source: Duchi, Hazan, Singer, JMLR 12 (2011), as Keras's Adagrad. Designated
/// initializers name the members in this order.
/// \throws ValueError from compile, unless epsilon is positive, the others not negative, all finite, and at most one
/// limit of clipping is not 0.
struct Adagrad {
  static constexpr FixedString name = "adagrad";

  Rate learning_rate = 1e-3;
  double initial_accumulator_value = 0.1, epsilon = 1e-7;
  double weight_decay = 0;
  double clipnorm = 0, global_clipnorm = 0, clipvalue = 0;  ///< at most one of them; 0: off

  void config(Config& c) const {
    c("initial_accumulator_value", initial_accumulator_value, intervals::not_negative);
    c("epsilon", epsilon, intervals::positive);
  }

  constexpr std::size_t slots() const { return 1; }
  double initial(std::size_t) const { return initial_accumulator_value; }
  std::string_view slot_name(std::size_t) const { return "accumulator"; }

  template <class T>
  AdagradStep<T> step(std::uint64_t /*iteration*/, double rate) const {
    return {
        .rate = static_cast<T>(rate), .epsilon = static_cast<T>(epsilon), .decay = static_cast<T>(weight_decay * rate)};
  }
};

/// Adagrad's step on one element, or on a vector of elements.
template <class T>
struct AdagradStep {
  static constexpr bool takes_vectors = true;

  T rate, epsilon, decay;

  template <class Value, class Pointer>
  KOKKOS_FUNCTION void operator()(std::size_t i, Pointer w, Value gradient, Pointer const* slots) const {
    Value const sum = slots[0][i] + gradient * gradient;
    slots[0][i] = sum;
    w[i] = w[i] - w[i] * decay - rate * gradient / math::sqrt(sum + epsilon);
  }
};

}  // namespace trireme
