/// Nadam: Adam with Nesterov's momentum.
/// Source: Dozat, "Incorporating Nesterov momentum into Adam", ICLR workshop 2016.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
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
struct NadamStep;

/// Nadam, Adam with Nesterov momentum: w -= rate n / (sqrt(v / (1 - beta_2^t)) + epsilon) in step t, counted from 1.
///
/// m and v are Adam's means of the gradient g. With u(t) = beta_1 (1 - 0.96^t / 2) and the product p(t) = u(1) … u(t),
/// n = u(t + 1) m / (1 - p(t + 1)) + (1 - u(t)) g / (1 - p(t)). Weights w of any shape; the state is m and v, of the
/// shape of w. Weight decay first takes rate weight_decay w from w. Source: Dozat, ICLR workshop 2016, as Keras's
/// Nadam. Designated initializers name the members in this order.
/// \throws ValueError from compile, unless the betas are in [0, 1), epsilon is positive, the others not negative, all
/// finite, and at most one limit of clipping is not 0.
struct Nadam {
  static constexpr FixedString name = "nadam";

  Rate learning_rate = 1e-3;
  double beta_1 = 0.9, beta_2 = 0.999, epsilon = 1e-7;
  double weight_decay = 0;
  double clipnorm = 0, global_clipnorm = 0, clipvalue = 0;  ///< at most one of them; 0: off

  void config(Config& c) const {
    c("beta_1", beta_1, intervals::below_one);
    c("beta_2", beta_2, intervals::below_one);
    c("epsilon", epsilon, intervals::positive);
  }

  static constexpr std::size_t interleaved_slots = 2;  ///< in files: both of a variable side by side, as in Keras
  constexpr std::size_t slots() const { return 2; }
  double initial(std::size_t) const { return 0; }
  std::string_view slot_name(std::size_t slot) const { return slot == 0 ? "momentum" : "velocity"; }

  /// The product of momenta, which Keras keeps as a variable behind the slots; here it follows from the iteration.
  double stored_number(std::uint64_t iteration) const { return product_until(iteration); }

  template <class T>
  NadamStep<T> step(std::uint64_t iteration, double rate) const {
    double const now = momentum_at(iteration), next = momentum_at(iteration + 1), product = product_until(iteration);
    return {.rate = static_cast<T>(rate),
            .one_minus_beta_1 = static_cast<T>(1 - beta_1),
            .one_minus_beta_2 = static_cast<T>(1 - beta_2),
            .momentum_factor = static_cast<T>(next / (1 - product * next)),
            .gradient_factor = static_cast<T>((1 - now) / (1 - product)),
            .velocity_factor = static_cast<T>(1 / (1 - std::pow(beta_2, static_cast<double>(iteration)))),
            .epsilon = static_cast<T>(epsilon),
            .decay = static_cast<T>(weight_decay * rate)};
  }

 private:
  double momentum_at(std::uint64_t t) const { return beta_1 * (1 - 0.5 * std::pow(0.96, static_cast<double>(t))); }

  /// Computed anew rather than kept, so that a step is a function of its number.
  double product_until(std::uint64_t iteration) const {
    std::size_t const last = std::min<std::uint64_t>(iteration, warmup.size() - 1);
    return std::pow(beta_1, static_cast<double>(iteration)) * warmup[last];
  }

  /// Products of the factors 1 - 0.96^t / 2 from t = 1 on; all further ones round to 1.
  static constexpr std::array<double, 1000> warmup = [] {
    std::array<double, 1000> products{1};
    double power = 1;
    for (std::size_t t = 1; t < products.size(); ++t) {
      power *= 0.96;
      products[t] = products[t - 1] * (1 - 0.5 * power);
    }
    return products;
  }();
};

/// Nadam's step on one element, or on a vector of elements.
template <class T>
struct NadamStep {
  static constexpr bool takes_vectors = true;

  T rate, one_minus_beta_1, one_minus_beta_2, momentum_factor, gradient_factor, velocity_factor, epsilon, decay;

  template <class Value, class Pointer>
  KOKKOS_FUNCTION void operator()(std::size_t i, Pointer w, Value gradient, Pointer const* slots) const {
    Value const m = math::flush_subnormals<T>(slots[0][i] + (gradient - slots[0][i]) * one_minus_beta_1);
    Value const v = math::flush_subnormals<T>(slots[1][i] + (gradient * gradient - slots[1][i]) * one_minus_beta_2);
    slots[0][i] = m;
    slots[1][i] = v;
    Value const ahead = momentum_factor * m + gradient_factor * gradient;
    w[i] = w[i] - w[i] * decay - rate * ahead / (math::sqrt(v * velocity_factor) + epsilon);
  }
};

}  // namespace trireme
