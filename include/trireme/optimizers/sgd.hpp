/// SGD: stochastic gradient descent, optionally with momentum.
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
struct SGDStep;

/// Stochastic gradient descent: w -= rate g; with momentum m = momentum m - rate g, then w += m.
///
/// Weights w of any shape, g their gradient; the state is m, of the shape of w, if momentum is not 0. With `nesterov` w
/// += momentum m - rate g, the gradient as if the momentum had been applied already. Weight decay first takes rate
/// weight_decay w from w. Source: Keras's SGD. Designated initializers name the members in this order.
/// \throws ValueError from compile, unless momentum is in [0, 1], the others not negative and finite, and at most one
/// limit of clipping is not 0.
struct SGD {
  static constexpr FixedString name = "sgd";

  Rate learning_rate = 0.01;
  double momentum = 0;
  bool nesterov = false;  ///< the gradient as if the momentum had been applied already
  double weight_decay = 0;
  double clipnorm = 0, global_clipnorm = 0, clipvalue = 0;  ///< at most one of them; 0: off

  void config(Config& c) const {
    c("momentum", momentum, intervals::fraction);
    c("nesterov", nesterov);
  }

  constexpr std::size_t slots() const { return momentum != 0 ? 1 : 0; }
  double initial(std::size_t) const { return 0; }
  std::string_view slot_name(std::size_t) const { return "momentum"; }

  template <class T>
  SGDStep<T> step(std::uint64_t /*iteration*/, double rate) const {
    return {.rate = static_cast<T>(rate),
            .momentum = static_cast<T>(momentum),
            .decay = static_cast<T>(weight_decay * rate),
            .has_momentum = momentum != 0,
            .nesterov = nesterov};
  }
};

/// SGD's step on one element, or on a vector of elements; the rate is inside the momentum, unlike PyTorch's.
template <class T>
struct SGDStep {
  static constexpr bool takes_vectors = true;

  T rate, momentum, decay;
  bool has_momentum, nesterov;

  template <class Value, class Pointer>
  KOKKOS_FUNCTION void operator()(std::size_t i, Pointer w, Value gradient, Pointer const* slots) const {
    Value weight = w[i] - w[i] * decay;
    if (!has_momentum) {
      weight -= rate * gradient;
    } else {
      Value const m = math::flush_subnormals<T>(momentum * slots[0][i] - rate * gradient);
      slots[0][i] = m;
      weight += nesterov ? momentum * m - rate * gradient : m;
    }
    w[i] = weight;
  }
};

}  // namespace trireme
