/// Functions without branches and calls, so that loops over them vectorise on a host; a device's own elsewhere.
///
/// Errors measured over floats of the whole range (tests/unit/backend/math.cpp): exp 2 ulp, tanh 7, expm1_nonpositive
/// 3, softplus_of_negative 4, normal_probability 8. In double they are the standard functions.
#pragma once

#include <bit>
#include <cstdint>
#include <limits>
#include <type_traits>

#include <Kokkos_MathematicalFunctions.hpp>

#include "trireme/backend/simd/simd_vector.hpp"

namespace trireme::math {

namespace detail {

inline std::uint32_t bits(float x) { return std::bit_cast<std::uint32_t>(x); }
inline float from_bits(std::uint32_t x) { return std::bit_cast<float>(x); }

// Comparisons are made on the bits, and choices with masks: for floating-point comparisons GCC makes branches, and does
// not vectorise them unless floating-point traps are disabled.
inline constexpr std::uint32_t sign_bit = 0x80000000u, infinity_bits = 0x7f800000u;

/// x, clamped to [-limit, limit].
inline float bounded(float x, float limit) {
  std::uint32_t const magnitude = bits(x) & ~sign_bit;
  return from_bits((magnitude < bits(limit) ? magnitude : bits(limit)) | (bits(x) & sign_bit));
}

template <class T>
T select(bool condition, T yes, T no) {
  using Bits = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;
  Bits const mask = Bits{0} - static_cast<Bits>(condition);
  return std::bit_cast<T>((std::bit_cast<Bits>(yes) & mask) | (std::bit_cast<Bits>(no) & ~mask));
}

/// x if it is NaN, otherwise the value.
inline float unless_nan(float x, float value) { return select((bits(x) & ~sign_bit) > infinity_bits, x, value); }

/// 2^n for -126 <= n <= 127.
inline float power_of_two(std::int32_t n) { return std::bit_cast<float>((n + 127) << 23); }

/// exp(x) = 2^n exp(r) with |r| <= log(2) / 2 and a polynomial of degree 6 for exp(r). Source: Cephes' expf.
inline float host_exp(float x) {
  float const b = bounded(x, 104.0f);   // where the result is 0 or infinity
  constexpr float shift = 12582912.0f;  // 1.5 * 2^23: adding it rounds to an integer, which its low bits then hold
  float const shifted = b * 1.44269504f + shift;
  float const n = shifted - shift;
  float const r = b - n * 0.693359375f + n * 2.12194440e-4f;  // log(2) in two parts
  float p = 1.9875691500e-4f;
  p = p * r + 1.3981999507e-3f;
  p = p * r + 8.3334519073e-3f;
  p = p * r + 4.1665795894e-2f;
  p = p * r + 1.6666665459e-1f;
  p = p * r + 5.0000001201e-1f;
  p = p * (r * r) + r + 1.0f;
  // In two factors, since 2^n alone may overflow or be subnormal where the result is not.
  std::int32_t const power = std::bit_cast<std::int32_t>(shifted) - std::bit_cast<std::int32_t>(shift);
  return unless_nan(x, p * power_of_two(power >> 1) * power_of_two(power - (power >> 1)));
}

/// exp(x) - 1 for x <= 0, without cancellation near 0: 2^n (exp(r) - 1) + (2^n - 1), as in host_exp.
inline float host_decline(float x) {
  float const b = bounded(x, 87.0f);  // where the result is -1
  constexpr float shift = 12582912.0f;
  float const shifted = b * 1.44269504f + shift;
  float const n = shifted - shift;
  float const r = b - n * 0.693359375f + n * 2.12194440e-4f;
  float p = 1.9875691500e-4f;
  p = p * r + 1.3981999507e-3f;
  p = p * r + 8.3334519073e-3f;
  p = p * r + 4.1665795894e-2f;
  p = p * r + 1.6666665459e-1f;
  p = p * r + 5.0000001201e-1f;
  float const scale = power_of_two(std::bit_cast<std::int32_t>(shifted) - std::bit_cast<std::int32_t>(shift));
  return unless_nan(x, scale * (p * (r * r) + r) + (scale - 1.0f));
}

/// log(1 + exp(x)) for x <= 0: with u = exp(x) twice the area tangent of w = u / (2 + u), a series in w^2 <= 1/9.
inline float host_softplus_of_negative(float x) {
  float const u = host_exp(x);
  float const w = u / (2.0f + u), s = w * w;
  float p = 1.0f / 15.0f;
  p = p * s + 1.0f / 13.0f;
  p = p * s + 1.0f / 11.0f;
  p = p * s + 1.0f / 9.0f;
  p = p * s + 1.0f / 7.0f;
  p = p * s + 1.0f / 5.0f;
  p = p * s + 1.0f / 3.0f;
  return 2.0f * w * (p * s + 1.0f);
}

/// Half of erfc(z) = t exp(-z^2 + polynomial(t)) with t = 2 / (2 + z) for z = |x| / sqrt(2), or 1 minus that.
/// The square is split, since its rounding would be multiplied by itself. Source: Press et al., Numerical Recipes, 6.2.
inline float host_normal_probability(float x) {
  float const magnitude = from_bits((bits(x) & ~sign_bit) < bits(15.0f) ? bits(x) & ~sign_bit : bits(15.0f));
  float const high = from_bits(bits(magnitude) & 0xfffff000u);  // its square is exact
  float const rest = 0.5f * (magnitude - high) * (magnitude + high);
  float const t = 1.0f / (1.0f + 0.35355339059327376f * magnitude);
  float p = 0.17087277f;
  p = p * t - 0.82215223f;
  p = p * t + 1.48851587f;
  p = p * t - 1.13520398f;
  p = p * t + 0.27886807f;
  p = p * t - 0.18628806f;
  p = p * t + 0.09678418f;
  p = p * t + 0.37409196f;
  p = p * t + 1.00002368f;
  p = p * t - 1.26551223f;
  float const tail = 0.5f * t * host_exp(p - rest) * host_exp(-0.5f * high * high);
  return unless_nan(x, select((bits(x) & sign_bit) != 0, tail, 1.0f - tail));
}

/// A quotient of polynomials of degree 13 and 6 in the range where tanh is not yet 1 in float.
inline float host_tanh(float x) {
  float const b = bounded(x, 7.99881172f);
  float const s = b * b;
  float p = -2.76076847742355e-16f;
  p = p * s + 2.00018790482477e-13f;
  p = p * s - 8.60467152213735e-11f;
  p = p * s + 5.12229709037114e-08f;
  p = p * s + 1.48572235717979e-05f;
  p = p * s + 6.37261928875436e-04f;
  p = p * s + 4.89352455891786e-03f;
  float q = 1.19825839466702e-06f;
  q = q * s + 1.18534705686654e-04f;
  q = q * s + 2.26843463243900e-03f;
  q = q * s + 4.89352518554385e-03f;
  return unless_nan(x, b * (p / q));  // the quotient first: it is near 1 where b is subnormal
}

}  // namespace detail

/// condition ? yes : no, of which compilers make the maximum of two numbers. Also of the lanes of a host's vector,
/// whose conditions are a vector, and of a number whose comparisons the function `choose` beside its type takes.
template <class Condition, class T>
KOKKOS_INLINE_FUNCTION T where(Condition condition, T yes, T no) {
  if constexpr (requires { choose(condition, yes, no); })
    return choose(condition, yes, no);
  else
    return condition ? yes : no;
}

/// The same by masks on a host, for loops that compilers vectorise then without further flags.
template <class Condition, class T>
KOKKOS_INLINE_FUNCTION T select(Condition condition, T yes, T no) {
  if constexpr (std::is_floating_point_v<T>) {
    KOKKOS_IF_ON_HOST((return detail::select(condition, yes, no);))
    KOKKOS_IF_ON_DEVICE((return condition ? yes : no;))
  } else {
    return where(condition, yes, no);
  }
}

// A type of numbers that is none of the language's, such as one that writes a program, brings functions of these names.

/// Correctly rounded, of a number or of the lanes of a host's vector.
template <class T>
KOKKOS_INLINE_FUNCTION T sqrt(T x) {
  if constexpr (requires { x[0]; }) {
    return trireme::detail::vector_sqrt(x);
  } else {
    using Kokkos::sqrt;
    return sqrt(x);
  }
}

/// The least positive number of T with all digits; a variable, since device code calls no constexpr function of the
/// host.
template <class T>
inline constexpr auto smallest_normal = std::numeric_limits<T>::min();

/// x, or 0 where it is subnormal. A decaying mean of gradients that stay 0 ends at a subnormal number and never leaves
/// it; processors take several times as long for those. NaN stays. \tparam T  the type of a number in x
template <class T, class Value>
KOKKOS_INLINE_FUNCTION Value flush_subnormals(Value x) {
  T const least = smallest_normal<T>;
  Value const zero{};
  Value const small = where(x > -least, zero, x);
  return where(x < least, small, x);
}

/// The exponential function, within the accuracy of this header's first lines.
template <class T>
KOKKOS_INLINE_FUNCTION T exp(T x) {
  if constexpr (std::is_same_v<T, float>) {
    KOKKOS_IF_ON_HOST((return detail::host_exp(x);))
    KOKKOS_IF_ON_DEVICE((return Kokkos::exp(x);))
  } else {
    using Kokkos::exp;
    return exp(x);
  }
}

/// The hyperbolic tangent, within the accuracy of this header's first lines.
template <class T>
KOKKOS_INLINE_FUNCTION T tanh(T x) {
  if constexpr (std::is_same_v<T, float>) {
    KOKKOS_IF_ON_HOST((return detail::host_tanh(x);))
    KOKKOS_IF_ON_DEVICE((return Kokkos::tanh(x);))
  } else {
    using Kokkos::tanh;
    return tanh(x);
  }
}

/// exp(x) - 1 for x <= 0.
template <class T>
KOKKOS_INLINE_FUNCTION T expm1_nonpositive(T x) {
  if constexpr (std::is_same_v<T, float>) {
    KOKKOS_IF_ON_HOST((return detail::host_decline(x);))
    KOKKOS_IF_ON_DEVICE((return Kokkos::expm1(x);))
  } else {
    using Kokkos::expm1;
    return expm1(x);
  }
}

/// log(1 + exp(x)) for x <= 0.
template <class T>
KOKKOS_INLINE_FUNCTION T softplus_of_negative(T x) {
  if constexpr (std::is_same_v<T, float>) {
    KOKKOS_IF_ON_HOST((return detail::host_softplus_of_negative(x);))
    KOKKOS_IF_ON_DEVICE((return Kokkos::log1p(Kokkos::exp(x));))
  } else {
    using Kokkos::exp, Kokkos::log1p;
    return log1p(exp(x));
  }
}

/// The probability that a standard normal variable is below x; keeps its relative accuracy where x is very negative.
template <class T>
KOKKOS_INLINE_FUNCTION T normal_probability(T x) {
  T const scale = static_cast<T>(-0.70710678118654752440);
  if constexpr (std::is_same_v<T, float>) {
    KOKKOS_IF_ON_HOST((return detail::host_normal_probability(x);))
    KOKKOS_IF_ON_DEVICE((return T(0.5) * Kokkos::erfc(scale * x);))
  } else {
    using Kokkos::erfc;
    return T(0.5) * erfc(scale * x);
  }
}

}  // namespace trireme::math
