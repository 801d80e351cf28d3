/// ElementwiseLoss: a loss of the user's own, whose derivative comes from dual numbers.
#pragma once

#include <cstddef>
#include <type_traits>

#include <Kokkos_Macros.hpp>

#include "trireme/activations/elementwise.hpp"
#include "trireme/backend/simd/dual.hpp"
#include "trireme/core/fixed_string.hpp"
#include "trireme/losses/targets.hpp"

namespace trireme {

/// A loss of a user's own: `ElementwiseLoss{[](auto prediction, auto truth) { return abs(prediction - truth); }}`.
///
/// Prediction and target (rows, …, outputs); the loss of a position is the mean of the function over its outputs, in
/// the unit that the function returns. The function takes two numbers and returns one computed from them; its
/// derivative comes from dual numbers. A function of other arguments does not compile: "an elementwise loss takes two
/// numbers (auto prediction, auto truth) and returns one computed from them". On a device the function is a functor
/// (see Elementwise).
template <class Function>
struct ElementwiseLoss {
  static constexpr FixedString name = "elementwise_loss";
  using target = DenseTarget;
  static constexpr auto outputs = LossOutputs::mean;

  Function function{};

  ElementwiseLoss() = default;
  /// Loss of a function of (prediction, truth).
  constexpr explicit ElementwiseLoss(Function f) : function(f) {}

  template <class T>
  KOKKOS_FUNCTION T operator()(T const* prediction, T const* truth, std::size_t size, T scale, T* gradient) const {
    static_assert(detail::require_own_function<Function>());
    static_assert(std::is_convertible_v<std::invoke_result_t<Function const&, Dual<T>, Value<T>>, Dual<T>>,
                  "trireme: an elementwise loss takes two numbers (auto prediction, auto truth) and returns one "
                  "computed from them");
    T const slope = scale / static_cast<T>(size);
    T sum = 0;
    for (std::size_t i = 0; i < size; ++i) {
      if (gradient != nullptr) {
        Dual<T> const loss(function(Dual<T>::variable(prediction[i]), Value<T>(truth[i])));
        sum += loss.value;
        gradient[i] = slope * loss.derivative;
      } else {
        sum += Value<T>(function(Value<T>(prediction[i]), Value<T>(truth[i]))).value;
      }
    }
    return sum / static_cast<T>(size);
  }
};

}  // namespace trireme
