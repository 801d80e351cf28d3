/// Ftrl: follow the regularized leader, for sparse weights.
/// Source: McMahan et al., "Ad click prediction: a view from the trenches", KDD 2013.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include <Kokkos_MathematicalFunctions.hpp>

#include "trireme/backend/simd/math.hpp"
#include "trireme/core/config.hpp"
#include "trireme/core/fixed_string.hpp"
#include "trireme/schedules/rate.hpp"

namespace trireme {

template <class T>
struct FtrlStep;

/// Follow the regularized leader: w = (clip(z, -l1, l1) - z) / (n^q / rate + 2 l2 + beta / rate), for sparse weights.
///
/// n += g^2; z += g + 2 shrinkage w - (n^q - (n before)^q) / rate w, with q = -learning_rate_power and the l1, l2 and
/// shrinkage of the three regularization strengths. Weights w of any shape; the state is n, which begins with
/// initial_accumulator_value, and z, of the shape of w. Weight decay first takes rate weight_decay w from w. A rate of
/// 0 changes nothing, and w is 0 as long as n is: Keras has NaN there. Source: McMahan et al., KDD 2013, as Keras's
/// Ftrl. Designated initializers name the members in this order.
/// \throws ValueError from compile, unless learning_rate_power is at most 0, the others not negative, all finite, and
/// at most one limit of clipping is not 0.
struct Ftrl {
  static constexpr FixedString name = "ftrl";

  Rate learning_rate = 1e-3;
  double learning_rate_power = -0.5, initial_accumulator_value = 0.1;
  double l1_regularization_strength = 0, l2_regularization_strength = 0;
  double l2_shrinkage_regularization_strength = 0;  ///< acts on the gradient only, not on the leader
  double beta = 0;
  double weight_decay = 0;
  double clipnorm = 0, global_clipnorm = 0, clipvalue = 0;  ///< at most one of them; 0: off

  void config(Config& c) const {
    c("learning_rate_power", learning_rate_power, {-intervals::infinity, 0, true, false});
    c("initial_accumulator_value", initial_accumulator_value, intervals::not_negative);
    c("l1_regularization_strength", l1_regularization_strength, intervals::not_negative);
    c("l2_regularization_strength", l2_regularization_strength, intervals::not_negative);
    c("l2_shrinkage_regularization_strength", l2_shrinkage_regularization_strength, intervals::not_negative);
    c("beta", beta, intervals::not_negative);
  }

  static constexpr std::size_t interleaved_slots = 2;  ///< in files: both of a variable side by side, as in Keras
  constexpr std::size_t slots() const { return 2; }
  double initial(std::size_t slot) const { return slot == 0 ? initial_accumulator_value : 0; }
  std::string_view slot_name(std::size_t slot) const { return slot == 0 ? "accumulator" : "linear"; }

  template <class T>
  FtrlStep<T> step(std::uint64_t /*iteration*/, double rate) const {
    return {.inverse_rate = static_cast<T>(1 / rate),
            .power = static_cast<T>(-learning_rate_power),
            .l1 = static_cast<T>(l1_regularization_strength),
            .l2 = static_cast<T>(2 * l2_regularization_strength + beta / rate),
            .shrinkage = static_cast<T>(2 * l2_shrinkage_regularization_strength),
            .decay = static_cast<T>(weight_decay * rate)};
  }
};

/// Ftrl's step on one element.
template <class T>
struct FtrlStep {
  T inverse_rate, power, l1, l2, shrinkage, decay;

  KOKKOS_FUNCTION void operator()(std::size_t i, T* w, T gradient, T* const* slots) const {
    using Kokkos::pow;
    auto const changes = inverse_rate * T(0) == T(0);  // false at a rate of 0, whose inverse is infinite
    T const weight = w[i] - w[i] * decay;
    T const old_sum = slots[0][i], old_linear = slots[1][i], sum = old_sum + gradient * gradient;
    T const scaled = pow(sum, power);
    T const linear =
        old_linear + gradient + shrinkage * weight - (scaled - pow(old_sum, power)) * inverse_rate * weight;
    T const clipped = math::where(linear > l1, l1, math::where(linear < -l1, -l1, linear));
    T const curvature = scaled * inverse_rate + l2;
    T const value = math::where(curvature == T(0), T(0), (clipped - linear) / curvature);
    slots[0][i] = math::where(changes, sum, old_sum);
    slots[1][i] = math::where(changes, linear, old_linear);
    w[i] = math::where(changes, value, w[i]);
  }
};

}  // namespace trireme
