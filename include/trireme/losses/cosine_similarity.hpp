/// CosineSimilarity: minus the cosine of the angle between prediction and target.
#pragma once

#include <cstddef>

#include <Kokkos_MathematicalFunctions.hpp>

#include "trireme/core/fixed_string.hpp"
#include "trireme/losses/targets.hpp"

namespace trireme {

/// Negative cosine similarity of a position: -(p · y) / (norm(p) norm(y)), in [-1, 1].
///
/// Prediction p and target y (rows, …, outputs), vectors along the last axis; one value a position, without a unit.
/// Each norm is raised to 1e-7, so that a zero vector has cosine 0. The formula is that of Keras's
/// CosineSimilarity.
struct CosineSimilarity {
  static constexpr FixedString name = "cosine_similarity";
  using target = DenseTarget;

  static constexpr double smallest_square = 1e-14;  ///< of a vector's length, so that a zero vector has cosine 0

  template <class T>
  KOKKOS_FUNCTION T operator()(T const* prediction, T const* truth, std::size_t size, T scale, T* gradient) const {
    T squares_p = 0, squares_z = 0, dot = 0;
    for (std::size_t i = 0; i < size; ++i) {
      squares_p += prediction[i] * prediction[i];
      squares_z += truth[i] * truth[i];
      dot += prediction[i] * truth[i];
    }
    T const smallest = static_cast<T>(smallest_square);
    T const inverse_p = T(1) / Kokkos::sqrt(squares_p < smallest ? smallest : squares_p);
    T const inverse_z = T(1) / Kokkos::sqrt(squares_z < smallest ? smallest : squares_z);
    T const cosine = dot * inverse_p * inverse_z;
    if (gradient != nullptr) {
      T const along = squares_p < smallest ? T(0) : cosine * inverse_p;  // a length that is not used does not change
      for (std::size_t i = 0; i < size; ++i) {
        gradient[i] = scale * inverse_p * (along * prediction[i] - inverse_z * truth[i]);
      }
    }
    return -cosine;
  }
};

}  // namespace trireme
