/// Element types of tensors in a program.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>

#include "trireme/core/text.hpp"
#include "trireme/tensor/bfloat16.hpp"

namespace trireme::lowering {

enum class Element { f32, f64, i32, ui32, ui64, i1 };

template <class T>
inline constexpr Element element_of = [] {
  if constexpr (std::is_same_v<T, float>)
    return Element::f32;
  else if constexpr (std::is_same_v<T, double>)
    return Element::f64;
  else if constexpr (std::is_same_v<T, std::int32_t>)
    return Element::i32;
  else if constexpr (std::is_same_v<T, std::uint32_t>)
    return Element::ui32;
  else if constexpr (std::is_same_v<T, std::uint64_t>)
    return Element::ui64;
  else {
    static_assert(std::is_same_v<T, bool>, "trireme: programs have no elements of this type");
    return Element::i1;
  }
}();

constexpr std::string_view element_name(Element element) {
  constexpr std::string_view names[] = {"f32", "f64", "i32", "ui32", "ui64", "i1"};
  return names[static_cast<std::size_t>(element)];
}
constexpr std::size_t element_bytes(Element element) {
  constexpr std::size_t bytes[] = {4, 8, 4, 4, 8, 1};
  return bytes[static_cast<std::size_t>(element)];
}

/// Bits of a floating-point number besides its sign.
struct NumberFormat {
  int exponent, fraction;
};
template <class T>
inline constexpr NumberFormat number_format = [] {
  static_assert(std::is_same_v<T, BFloat16> || std::is_same_v<T, float>,
                "trireme: on a PJRT device Mixed stores numbers as BFloat16 or as float");
  return std::is_same_v<T, BFloat16> ? NumberFormat{8, 7} : NumberFormat{8, 23};
}();

/// Text of a number: floating-point ones by their bits, so that none is rounded.
template <class T>
std::string literal(T value) {
  if constexpr (std::is_same_v<T, float>)
    return formatted("0x{:08X}", std::bit_cast<std::uint32_t>(value));
  else if constexpr (std::is_same_v<T, double>)
    return formatted("0x{:016X}", std::bit_cast<std::uint64_t>(value));
  else
    return formatted("{}", value);
}

}  // namespace trireme::lowering
