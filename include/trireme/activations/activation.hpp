/// The ActivationFunction concept.
#pragma once

#include <concepts>

namespace trireme {

/// An elementwise activation is a functor with `operator()(x)` and `derivative(y)` or `derivative(x)`
/// (`derivative_from_output` says which), callable in kernels. One that mixes the elements of a row, such as Softmax,
/// has `elementwise = false` and row functions `forward(x, n, y)` and `backward(y, dy, n, dx)`; with `lanes` as their
/// first argument (backend/execution/lanes.hpp) the threads of a device share the row. One that is nowhere
/// decreasing may say so, `non_decreasing = true`: then max-pooling behind it may come first (CommutesWithMax).
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
