/// Taps of pooling windows, a vector of them at a time: kept in bytes, compared in lanes as wide as the values'.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <utility>

#include "trireme/backend/simd/simd_vector.hpp"

namespace trireme::detail {

/// Index of the tap with the largest value in a pooling window of so many taps.
template <std::size_t Taps>
using PoolTap = std::conditional_t<(Taps <= 256), std::uint8_t, std::uint16_t>;

/// Taps beside a vector of T.
template <class T, class Tap>
struct TapVector {
  using V = typename SimdVector<T>::type;
  using type = decltype(V{} > V{});
  static constexpr std::size_t lanes = SimdVector<T>::lanes;
  using Lane = std::conditional_t<sizeof(T) == 4, std::int32_t, std::int64_t>;
  typedef Tap narrow __attribute__((vector_size(lanes * sizeof(Tap))));

  static type all(std::size_t tap) { return type{} + static_cast<Lane>(tap); }
  static type equal(type taps, std::size_t tap) { return taps == all(tap); }

  static type load(Tap const* p) { return load(p, lanes); }
  static type load(Tap const* p, std::size_t n) {
    narrow taps{};
    std::memcpy(&taps, p, n * sizeof(Tap));
    return __builtin_convertvector(taps, type);
  }
#if defined(__CUDACC__)  // nvcc does not hand the expansion on to the host's compiler
  static void store(Tap* p, type taps, std::size_t n) {
    for (std::size_t i = 0; i < n; ++i) p[i] = static_cast<Tap>(taps[i]);
  }
#else
  static void store(Tap* p, type taps, std::size_t n) {
    narrow const low = low_parts(taps, std::make_index_sequence<lanes>{});
    std::memcpy(p, &low, n * sizeof(Tap));
  }

 private:
  /// Same as a conversion, which GCC 12 makes lane by lane.
  template <std::size_t... I>
  static narrow low_parts(type taps, std::index_sequence<I...>) {
    typedef Tap parts __attribute__((vector_size(sizeof(type))));
    parts const all_parts = reinterpret_cast<parts>(taps);
    return __builtin_shufflevector(all_parts, all_parts, (I * (sizeof(T) / sizeof(Tap)))...);
  }
#endif
};

}  // namespace trireme::detail
