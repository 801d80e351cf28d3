/// Elementwise: an activation of the user's own, whose derivative comes from dual numbers.
#pragma once

#include <concepts>
#include <string_view>
#include <type_traits>

#include <Kokkos_Core.hpp>

#include "trireme/backend/simd/dual.hpp"
#include "trireme/core/fixed_string.hpp"

namespace trireme {

namespace detail {

/// True if F is the type of a lambda, which nvcc and Clang do not take in kernels; the printed name of the type shows
/// it.
template <class F>
consteval bool is_closure() {
  constexpr std::string_view text = __PRETTY_FUNCTION__;
  return text.find("lambda(") != std::string_view::npos || text.find("lambda at") != std::string_view::npos ||
         text.find("lambda []") != std::string_view::npos;
}

template <class F>
consteval bool require_own_function() {
  static_assert(std::is_same_v<Kokkos::DefaultExecutionSpace, Kokkos::DefaultHostExecutionSpace> || !is_closure<F>(),
                "trireme: on a device a function of your own is a functor at namespace scope with a templated "
                "KOKKOS_FUNCTION operator(), not a lambda");
  return true;
}

}  // namespace detail

/// An activation of a user's own, y = function(x): `Elementwise{[](auto x) { return x * tanh(x); }}` as a layer.
///
/// Elementwise: the output has the shape of the input. As an option it is `Dense<64, Elementwise<Mish>>`, where Mish is
/// a functor (or the decltype of a lambda without captures). The function is called with Value<T> and Dual<T>, from
/// which the derivative comes: arithmetic, comparisons, and the functions of backend/simd/dual.hpp without `std::`
/// before them. A function of other arguments does not compile: "an elementwise function takes one number (auto x) and
/// returns one computed from it". On a device it is a functor, not a lambda. LSTM and GRU do not take it, since its
/// derivative does not follow from its output.
template <class Function>
struct Elementwise {
  Function function{};

  Elementwise() = default;
  /// Activation of a function of one number.
  constexpr explicit Elementwise(Function f) : function(f) {}

  static constexpr FixedString name = "elementwise";
  static constexpr bool elementwise = true;
  static constexpr bool derivative_from_output = false;

  template <class T>
  KOKKOS_FUNCTION T operator()(T x) const {
    static_assert(detail::require_own_function<Function>());
    static_assert(std::is_convertible_v<std::invoke_result_t<Function const&, Dual<T>>, Dual<T>>,
                  "trireme: an elementwise function takes one number (auto x) and returns one computed from it");
    return Value<T>(function(Value<T>(x))).value;
  }

  template <class T>
  KOKKOS_FUNCTION T derivative(T x) const {
    return Dual<T>(function(Dual<T>::variable(x))).derivative;
  }
};

}  // namespace trireme
