/// CategoricalHinge: how far the right class's prediction is from being larger by 1 than any other.
#pragma once

#include <cstddef>

#include <Kokkos_Macros.hpp>

#include "trireme/core/fixed_string.hpp"
#include "trireme/losses/targets.hpp"

namespace trireme {

/// Categorical hinge loss of a position: max(0, 1 + max_i((1 - y_i) p_i) - sum_i y_i p_i).
///
/// Prediction p, any numbers, and one-hot target y (rows, …, classes); one value a position. The formula is that of
/// Keras's CategoricalHinge.
struct CategoricalHinge {
  static constexpr FixedString name = "categorical_hinge";
  using target = DenseTarget;

  /// Of several wrong classes with the same largest prediction each has its part of the derivative, as in Keras.
  template <class T>
  KOKKOS_FUNCTION T operator()(T const* prediction, T const* truth, std::size_t size, T scale, T* gradient) const {
    T right = 0, wrong = (T(1) - truth[0]) * prediction[0];
    for (std::size_t i = 0; i < size; ++i) {
      right += truth[i] * prediction[i];
      T const other = (T(1) - truth[i]) * prediction[i];
      wrong = other > wrong ? other : wrong;
    }
    T const margin = wrong - right + T(1);
    if (gradient == nullptr) return margin < T(0) ? T(0) : margin;
    std::size_t ties = 0;
    for (std::size_t i = 0; i < size; ++i) ties += (T(1) - truth[i]) * prediction[i] == wrong ? 1 : 0;
    T const slope = margin < T(0) ? T(0) : scale;
    T const part = slope / static_cast<T>(ties);
    for (std::size_t i = 0; i < size; ++i) {
      bool const is_largest = (T(1) - truth[i]) * prediction[i] == wrong;
      gradient[i] = (is_largest ? part * (T(1) - truth[i]) : T(0)) - slope * truth[i];
    }
    return margin < T(0) ? T(0) : margin;
  }
};

}  // namespace trireme
