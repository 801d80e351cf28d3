/// Huber: squared for small errors, linear for those above `delta`.
#pragma once

#include <cstddef>

#include <Kokkos_Macros.hpp>

#include "trireme/backend/simd/math.hpp"
#include "trireme/core/config.hpp"
#include "trireme/core/fixed_string.hpp"
#include "trireme/losses/targets.hpp"

namespace trireme {

/// Huber loss: the mean over a position's outputs of e^2 / 2 where |e| is at most delta, and delta |e| - delta^2 / 2
/// beyond.
///
/// Prediction p and target y (rows, …, outputs), e = p - y; one value a position, in the squared unit of the target,
/// `delta` in that of the target. Source: Huber, Annals of Mathematical Statistics 35 (1964), as Keras's Huber.
/// \throws ValueError from compile, unless delta is positive and finite.
struct Huber {
  static constexpr FixedString name = "huber";
  using target = DenseTarget;
  static constexpr auto outputs = LossOutputs::mean;

  double delta = 1;

  void config(Config& c) const { c("delta", delta, intervals::positive); }

  template <class T>
  KOKKOS_FUNCTION T operator()(T const* prediction, T const* truth, std::size_t size, T scale, T* gradient) const {
    T const limit = static_cast<T>(delta);
    T const slope = scale / static_cast<T>(size);
    T sum = 0;
    for (std::size_t i = 0; i < size; ++i) {
      T const error = prediction[i] - truth[i];
      T const clipped = math::where(error > limit, limit, math::where(error < -limit, -limit, error));
      sum += clipped * (error - T(0.5) * clipped);
      if (gradient != nullptr) gradient[i] = slope * clipped;
    }
    return sum / static_cast<T>(size);
  }
};

}  // namespace trireme
