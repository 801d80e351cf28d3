/// Vectors of the width that the compiler's target has, through the vector extension of GCC and Clang.
#pragma once

#include <cstddef>
#include <cstring>

namespace trireme::detail {

/// Bytes of a vector register, and how many there are.
#if defined(__AVX512F__)
inline constexpr std::size_t simd_bytes = 64, simd_registers = 32;
#elif defined(__AVX2__) && defined(__FMA__)
inline constexpr std::size_t simd_bytes = 32, simd_registers = 16;
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

}  // namespace trireme::detail
