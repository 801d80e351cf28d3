/// The ActivationFunction concept.
#pragma once

#include <concepts>

namespace trireme {

/// An activation: a functor that kernels can call, over any shape if it is elementwise, otherwise over rows.
///
/// If `elementwise` it has `operator()(x)`, and `derivative(y)` or `derivative(x)` (`derivative_from_output` says
/// which). One that mixes the elements of a row, such as Softmax, has `elementwise = false` and row functions
/// `forward(lanes, x, n, y)` and `backward(lanes, y, dy, n, dx)` over the last axis, n numbers; by `lanes`
/// (backend/execution/lanes.hpp) the threads of a device share the row. One that decreases nowhere may have
/// `non_decreasing = true`: max-pooling behind it may then come first (CommutesWithMax).
template <class A>
concept ActivationFunction = requires {
  { A::elementwise } -> std::convertible_to<bool>;
};

/// True if backward needs what the activation was applied to, not only its result.
template <class A>
constexpr bool needs_preactivation() {
  if constexpr (A::elementwise)
    return !A::derivative_from_output;
  else
    return false;
}

/// An activation that may wait until the largest value of a pooling window has been found: the largest result is that
/// of the largest argument, and its derivative is known from it.
template <class A>
concept CommutesWithMax = A::elementwise && A::derivative_from_output && requires { requires A::non_decreasing; };

}  // namespace trireme
