/// Numbers of a file as numbers of the type that the program needs.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <type_traits>

namespace trireme::io {

/// The value as To, rounded if To is a floating-point type; nothing if To is an integer type that cannot hold it.
template <class To, class From>
std::optional<To> exact_cast(From value) {
  if constexpr (std::is_floating_point_v<To>) {
    return static_cast<To>(value);
  } else if constexpr (std::is_floating_point_v<From>) {
    // Both bounds are powers of two (or 0), which every floating-point type holds.
    From const end = std::ldexp(From{1}, std::numeric_limits<To>::digits);
    From const begin = std::is_signed_v<To> ? -end : From{0};
    if (!(value >= begin && value < end) || std::trunc(value) != value) return std::nullopt;
    return static_cast<To>(value);
  } else {
    To const result = static_cast<To>(value);
    auto const is_negative = []<class T>(T number) {
      if constexpr (std::is_signed_v<T>) return number < T{};
      return false;
    };
    if (static_cast<From>(result) != value || is_negative(result) != is_negative(value)) return std::nullopt;
    return result;
  }
}

}  // namespace trireme::io
