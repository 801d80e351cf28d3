/// LogCosh: the mean of log(cosh(error)): squared for small errors, linear for large ones.
#pragma once

#include <cstddef>

#include <Kokkos_MathematicalFunctions.hpp>

#include "trireme/core/fixed_string.hpp"
#include "trireme/losses/targets.hpp"

namespace trireme {

/// Logarithm of the hyperbolic cosine: the mean over a position's outputs of log(cosh(p - y)).
///
/// Prediction p and target y (rows, …, outputs); one value a position, near e^2 / 2 for small errors e and |e| - log(2)
/// for large ones. It does not overflow. The formula is that of Keras's LogCosh.
struct LogCosh {
  static constexpr FixedString name = "log_cosh";
  using target = DenseTarget;
  static constexpr auto outputs = LossOutputs::mean;

  template <class T>
  KOKKOS_FUNCTION T operator()(T const* prediction, T const* truth, std::size_t size, T scale, T* gradient) const {
    T const slope = scale / static_cast<T>(size);
    using Kokkos::exp, Kokkos::fabs, Kokkos::log1p, Kokkos::tanh;
    T sum = 0;
    for (std::size_t i = 0; i < size; ++i) {
      T const error = prediction[i] - truth[i];
      T const magnitude = fabs(error);
      sum += magnitude + log1p(exp(T(-2) * magnitude)) - static_cast<T>(0.69314718055994530942);
      if (gradient != nullptr) gradient[i] = slope * tanh(error);
    }
    return sum / static_cast<T>(size);
  }
};

}  // namespace trireme
