/// Vectors of the width that the compiler's target has, through the vector extension of GCC and Clang.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstring>
#include <type_traits>

namespace trireme::detail {

/// Bytes of a vector register, and how many there are.
#if defined(__AVX512F__)
inline constexpr std::size_t simd_bytes = 64, simd_registers = 32;
#elif defined(__AVX2__) && defined(__FMA__)
inline constexpr std::size_t simd_bytes = 32, simd_registers = 16;
#elif defined(__ARM_FEATURE_SVE_BITS) && __ARM_FEATURE_SVE_BITS > 128  // -msve-vector-bits: the length is known
inline constexpr std::size_t simd_bytes = __ARM_FEATURE_SVE_BITS < 512 ? __ARM_FEATURE_SVE_BITS / 8 : 64,
                             simd_registers = 32;
#elif defined(__aarch64__)
inline constexpr std::size_t simd_bytes = 16, simd_registers = 32;
#else
inline constexpr std::size_t simd_bytes = 0, simd_registers = 0;
#endif

/// False where the target has no fused multiply-add: a BLAS that chooses its kernels when it runs is faster there.
inline constexpr bool has_simd = simd_bytes > 0;

template <class T>
struct SimdVector {
  static constexpr std::size_t bytes = has_simd ? simd_bytes : 16;
  static constexpr std::size_t lanes = bytes / sizeof(T);
  typedef T type __attribute__((vector_size(bytes)));
  typedef T unaligned __attribute__((vector_size(bytes), aligned(alignof(T)), may_alias));

  static type load(T const* p) { return *reinterpret_cast<unaligned const*>(p); }
  static void store(T* p, type v) { *reinterpret_cast<unaligned*>(p) = v; }
  /// The first n lanes; the others are zero.
  static type load(T const* p, std::size_t n) {
    type v{};
    std::memcpy(&v, p, n * sizeof(T));
    return v;
  }
  static void store(T* p, type v, std::size_t n) { std::memcpy(p, &v, n * sizeof(T)); }
};

/// A pointer to vectors of numbers: its index counts numbers, and gives the vector that begins there.
template <class T>
struct VectorPointer {
  T* p;
  typename SimdVector<T>::unaligned& operator[](std::size_t i) const {
    return *reinterpret_cast<typename SimdVector<T>::unaligned*>(p + i);
  }
};

/// Square roots of a vector's lanes, by one instruction with Clang, on x86 and with NEON: std::sqrt sets errno, so
/// compilers take it one lane after the other.
template <class V>
V vector_sqrt(V x) {
#if defined(__clang__) && __has_builtin(__builtin_elementwise_sqrt)
  return __builtin_elementwise_sqrt(x);
#else
  using T = std::remove_cvref_t<decltype(x[0])>;
#if !defined(__clang__) && defined(__SSE2__)
  if constexpr (std::is_same_v<T, float> && sizeof(V) == 16) return __builtin_ia32_sqrtps(x);
  if constexpr (std::is_same_v<T, double> && sizeof(V) == 16) return __builtin_ia32_sqrtpd(x);
#if defined(__AVX__)
  if constexpr (std::is_same_v<T, float> && sizeof(V) == 32) return __builtin_ia32_sqrtps256(x);
  if constexpr (std::is_same_v<T, double> && sizeof(V) == 32) return __builtin_ia32_sqrtpd256(x);
#endif
#if defined(__AVX512F__)
  constexpr int current_rounding = 4;
  if constexpr (std::is_same_v<T, float> && sizeof(V) == 64)
    return __builtin_ia32_sqrtps512_mask(x, x, static_cast<short>(-1), current_rounding);
  if constexpr (std::is_same_v<T, double> && sizeof(V) == 64)
    return __builtin_ia32_sqrtpd512_mask(x, x, static_cast<char>(-1), current_rounding);
#endif
#endif
#if !defined(__clang__) && defined(__aarch64__)
  if constexpr (std::is_same_v<T, float> && sizeof(V) == 16) return __builtin_aarch64_sqrtv4sf(x);
  if constexpr (std::is_same_v<T, double> && sizeof(V) == 16) return __builtin_aarch64_sqrtv2df(x);
#endif
  for (std::size_t i = 0; i < sizeof(V) / sizeof(T); ++i) x[i] = std::sqrt(x[i]);
  return x;
#endif
}

}  // namespace trireme::detail
