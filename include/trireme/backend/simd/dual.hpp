/// Forward-mode differentiation of numbers, for functions of the user's own.
///
/// A generic function called with a `Dual` gives its value and its derivative; called with a `Value`, its value alone,
/// by the same source and through the same functions of backend/simd/math.hpp. Source: Griewank & Walther, Evaluating
/// Derivatives, 2nd ed., chapter 3 (forward mode).
#pragma once

#include <concepts>
#include <type_traits>

#include <Kokkos_MathematicalFunctions.hpp>

#include "trireme/backend/simd/math.hpp"

namespace trireme {

/// A number without a derivative.
template <class T>
struct Value {
  using scalar = T;
  T value{};

  Value() = default;
  /// Value of a number.
  template <class C>
    requires(std::is_arithmetic_v<C> || std::is_same_v<C, T>)
  KOKKOS_FUNCTION constexpr Value(C number) : value(static_cast<T>(number)) {}
};

/// A number and its derivative with respect to the variable (`Dual<T>::variable(x)`); constants have 0.
template <class T>
struct Dual {
  using scalar = T;
  T value{};
  T derivative{};

  Dual() = default;
  /// Constant, with derivative 0.
  template <class C>
    requires std::is_arithmetic_v<C>
  KOKKOS_FUNCTION constexpr Dual(C number) : value(static_cast<T>(number)) {}
  /// Constant, with derivative 0.
  KOKKOS_FUNCTION constexpr Dual(Value<T> number) : value(number.value) {}
  /// Number with the given derivative.
  KOKKOS_FUNCTION constexpr Dual(T number, T slope) : value(number), derivative(slope) {}

  /// Variable itself, with derivative 1.
  static KOKKOS_FUNCTION constexpr Dual variable(T x) { return {x, T(1)}; }
};

namespace detail {

template <class N>
inline constexpr bool is_dual = false;
template <class T>
inline constexpr bool is_dual<Dual<T>> = true;
template <class N>
inline constexpr bool is_variable = is_dual<N>;
template <class T>
inline constexpr bool is_variable<Value<T>> = true;

template <class N>
concept Variable = is_variable<N>;

/// The result type of an operation between A and B, at least one being a Variable.
template <class A, class B>
struct CommonVariable {
  using type = std::conditional_t<Variable<A> && (is_dual<A> || !Variable<B>), A, B>;
};
template <class A, class B>
using common_variable = typename CommonVariable<A, B>::type;

template <class A, class B>
concept MixedOperands = (Variable<A> || Variable<B>) && (Variable<A> || std::is_arithmetic_v<A>) &&
                        (Variable<B> || std::is_arithmetic_v<B>);

/// f(x) with the derivative f'(x), which is not computed for a Value.
template <Variable N>
KOKKOS_INLINE_FUNCTION N chain(N const& x, typename N::scalar value, typename N::scalar slope) {
  if constexpr (is_dual<N>)
    return {value, slope * x.derivative};
  else
    return {value};
}
template <Variable N>
KOKKOS_INLINE_FUNCTION N chain(N const& a, N const& b, typename N::scalar value, typename N::scalar slope_a,
                               typename N::scalar slope_b) {
  if constexpr (is_dual<N>)
    return {value, slope_a * a.derivative + slope_b * b.derivative};
  else
    return {value};
}

}  // namespace detail

/// condition ? yes : no, with its derivative: `math::where` of these numbers.
template <class Condition, detail::Variable N>
KOKKOS_INLINE_FUNCTION N choose(Condition condition, N const& yes, N const& no) {
  N result{};
  result.value = math::where(condition, yes.value, no.value);
  if constexpr (detail::is_dual<N>) result.derivative = math::where(condition, yes.derivative, no.derivative);
  return result;
}

template <class A, class B>
  requires detail::MixedOperands<A, B>
KOKKOS_INLINE_FUNCTION auto operator+(A const& a, B const& b) {
  using N = detail::common_variable<A, B>;
  N const x(a), y(b);
  return detail::chain(x, y, x.value + y.value, 1, 1);
}
template <class A, class B>
  requires detail::MixedOperands<A, B>
KOKKOS_INLINE_FUNCTION auto operator-(A const& a, B const& b) {
  using N = detail::common_variable<A, B>;
  N const x(a), y(b);
  return detail::chain(x, y, x.value - y.value, 1, -1);
}
template <class A, class B>
  requires detail::MixedOperands<A, B>
KOKKOS_INLINE_FUNCTION auto operator*(A const& a, B const& b) {
  using N = detail::common_variable<A, B>;
  N const x(a), y(b);
  return detail::chain(x, y, x.value * y.value, y.value, x.value);
}
template <class A, class B>
  requires detail::MixedOperands<A, B>
KOKKOS_INLINE_FUNCTION auto operator/(A const& a, B const& b) {
  using N = detail::common_variable<A, B>;
  using T = typename N::scalar;
  N const x(a), y(b);
  T const inverse = T(1) / y.value, quotient = x.value * inverse;
  return detail::chain(x, y, x.value / y.value, inverse, -quotient * inverse);
}
template <detail::Variable N>
KOKKOS_INLINE_FUNCTION N operator-(N const& x) {
  return detail::chain(x, -x.value, -1);
}
template <detail::Variable N>
KOKKOS_INLINE_FUNCTION N operator+(N const& x) {
  return x;
}
template <detail::Variable N, class B>
  requires detail::MixedOperands<N, B>
KOKKOS_INLINE_FUNCTION N& operator+=(N& a, B const& b) {
  return a = a + b;
}
template <detail::Variable N, class B>
  requires detail::MixedOperands<N, B>
KOKKOS_INLINE_FUNCTION N& operator-=(N& a, B const& b) {
  return a = a - b;
}
template <detail::Variable N, class B>
  requires detail::MixedOperands<N, B>
KOKKOS_INLINE_FUNCTION N& operator*=(N& a, B const& b) {
  return a = a * b;
}
template <detail::Variable N, class B>
  requires detail::MixedOperands<N, B>
KOKKOS_INLINE_FUNCTION N& operator/=(N& a, B const& b) {
  return a = a / b;
}

// Comparisons look at the values.
template <class A, class B>
  requires detail::MixedOperands<A, B>
KOKKOS_INLINE_FUNCTION auto operator<(A const& a, B const& b) {
  using N = detail::common_variable<A, B>;
  return N(a).value < N(b).value;
}
template <class A, class B>
  requires detail::MixedOperands<A, B>
KOKKOS_INLINE_FUNCTION auto operator>(A const& a, B const& b) {
  return b < a;
}
template <class A, class B>
  requires detail::MixedOperands<A, B>
KOKKOS_INLINE_FUNCTION auto operator<=(A const& a, B const& b) {
  using N = detail::common_variable<A, B>;
  return N(a).value <= N(b).value;
}
template <class A, class B>
  requires detail::MixedOperands<A, B>
KOKKOS_INLINE_FUNCTION auto operator>=(A const& a, B const& b) {
  return b <= a;
}
template <class A, class B>
  requires detail::MixedOperands<A, B>
KOKKOS_INLINE_FUNCTION auto operator==(A const& a, B const& b) {
  using N = detail::common_variable<A, B>;
  return N(a).value == N(b).value;
}

// Functions, found by their argument: a generic lambda writes exp(x), and means these.
/// `exp` of a number, with its derivative.
template <detail::Variable N>
KOKKOS_INLINE_FUNCTION N exp(N const& x) {
  auto const y = math::exp(x.value);
  return detail::chain(x, y, y);
}
/// `expm1` of a number, with its derivative.
template <detail::Variable N>
KOKKOS_INLINE_FUNCTION N expm1(N const& x) {
  using Kokkos::expm1;
  return detail::chain(x, expm1(x.value), math::exp(x.value));
}
/// `log` of a number, with its derivative.
template <detail::Variable N>
KOKKOS_INLINE_FUNCTION N log(N const& x) {
  using Kokkos::log;
  using T = typename N::scalar;
  return detail::chain(x, log(x.value), T(1) / x.value);
}
/// `log1p` of a number, with its derivative.
template <detail::Variable N>
KOKKOS_INLINE_FUNCTION N log1p(N const& x) {
  using Kokkos::log1p;
  using T = typename N::scalar;
  return detail::chain(x, log1p(x.value), T(1) / (T(1) + x.value));
}
template <detail::Variable N>
KOKKOS_INLINE_FUNCTION N sqrt(N const& x) {
  using Kokkos::sqrt;
  using T = typename N::scalar;
  T const y = sqrt(x.value);
  return detail::chain(x, y, T(0.5) / y);
}
/// `sin` of a number, with its derivative.
template <detail::Variable N>
KOKKOS_INLINE_FUNCTION N sin(N const& x) {
  using Kokkos::sin, Kokkos::cos;
  return detail::chain(x, sin(x.value), cos(x.value));
}
/// `cos` of a number, with its derivative.
template <detail::Variable N>
KOKKOS_INLINE_FUNCTION N cos(N const& x) {
  using Kokkos::sin, Kokkos::cos;
  return detail::chain(x, cos(x.value), -sin(x.value));
}
/// `atan` of a number, with its derivative.
template <detail::Variable N>
KOKKOS_INLINE_FUNCTION N atan(N const& x) {
  using Kokkos::atan;
  using T = typename N::scalar;
  return detail::chain(x, atan(x.value), T(1) / (T(1) + x.value * x.value));
}
/// `tanh` of a number, with its derivative.
template <detail::Variable N>
KOKKOS_INLINE_FUNCTION N tanh(N const& x) {
  using T = typename N::scalar;
  T const y = math::tanh(x.value);
  return detail::chain(x, y, T(1) - y * y);
}
/// `erf` of a number, with its derivative.
template <detail::Variable N>
KOKKOS_INLINE_FUNCTION N erf(N const& x) {
  using Kokkos::erf;
  using T = typename N::scalar;
  T const scale = static_cast<T>(1.12837916709551257390);  // 2 / sqrt(pi)
  return detail::chain(x, erf(x.value), scale * math::exp(-x.value * x.value));
}
/// x to a constant power; to the power 0 of slope 0 everywhere.
template <detail::Variable N, class C>
  requires std::is_arithmetic_v<C>
KOKKOS_INLINE_FUNCTION N pow(N const& x, C exponent) {
  using Kokkos::pow;
  using T = typename N::scalar;
  T const p = static_cast<T>(exponent);
  return detail::chain(x, pow(x.value, p), exponent == C(0) ? T(0) : p * pow(x.value, p - T(1)));
}
/// Of slope 0 at 0, as in Keras.
template <detail::Variable N>
KOKKOS_INLINE_FUNCTION N abs(N const& x) {
  using Kokkos::abs;
  using T = typename N::scalar;
  T const slope = math::where(x.value > T(0), T(1), math::where(x.value < T(0), T(-1), T(0)));
  return detail::chain(x, abs(x.value), slope);
}
/// The slope of the first where both are equal.
template <class A, class B>
  requires detail::MixedOperands<A, B>
KOKKOS_INLINE_FUNCTION auto max(A const& a, B const& b) {
  using N = detail::common_variable<A, B>;
  N const x(a), y(b);
  auto const second = x.value < y.value;
  return choose(second, y, x);
}
/// The smaller of two numbers, with its derivative.
template <class A, class B>
  requires detail::MixedOperands<A, B>
KOKKOS_INLINE_FUNCTION auto min(A const& a, B const& b) {
  using N = detail::common_variable<A, B>;
  N const x(a), y(b);
  auto const second = y.value < x.value;
  return choose(second, y, x);
}

}  // namespace trireme
