/// exp and tanh without branches and calls, so that loops over them vectorise on a host; a device's own elsewhere.
///
/// Errors measured over all floats of the range (tests/unit/backend/math.cpp): exp 2 ulp, tanh 7 ulp. In double they
/// are the standard functions.
#pragma once

#include <bit>
#include <cstdint>
#include <type_traits>

#include <Kokkos_MathematicalFunctions.hpp>

namespace trireme::math {

namespace detail {

inline std::uint32_t bits(float x) { return std::bit_cast<std::uint32_t>(x); }
inline float from_bits(std::uint32_t x) { return std::bit_cast<float>(x); }

// Comparisons and choices are made on the bits: of choices between floating-point values GCC makes branches, and does
// not vectorise them unless it is told that nothing traps.
inline constexpr std::uint32_t sign_bit = 0x80000000u, infinity_bits = 0x7f800000u;

/// x, but no further from 0 than the limit.
inline float bounded(float x, float limit) {
  std::uint32_t const magnitude = bits(x) & ~sign_bit;
  return from_bits((magnitude < bits(limit) ? magnitude : bits(limit)) | (bits(x) & sign_bit));
}

inline float choose(bool condition, float yes, float no) { return from_bits(condition ? bits(yes) : bits(no)); }

/// x where it is not a number, else the value.
inline float unless_nan(float x, float value) { return choose((bits(x) & ~sign_bit) > infinity_bits, x, value); }

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

template <class T>
KOKKOS_INLINE_FUNCTION T exp(T x) {
  if constexpr (std::is_same_v<T, float>) {
    KOKKOS_IF_ON_HOST((return detail::host_exp(x);))
    KOKKOS_IF_ON_DEVICE((return Kokkos::exp(x);))
  } else {
    return Kokkos::exp(x);
  }
}

template <class T>
KOKKOS_INLINE_FUNCTION T tanh(T x) {
  if constexpr (std::is_same_v<T, float>) {
    KOKKOS_IF_ON_HOST((return detail::host_tanh(x);))
    KOKKOS_IF_ON_DEVICE((return Kokkos::tanh(x);))
  } else {
    return Kokkos::tanh(x);
  }
}

}  // namespace trireme::math
