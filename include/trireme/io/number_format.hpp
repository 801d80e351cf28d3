/// Numbers as files hold them, of any size and order of bytes, read as the type that the program needs.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>
#include <vector>

#include "trireme/core/text.hpp"
#include "trireme/io/byte_source.hpp"
#include "trireme/io/numbers.hpp"

namespace trireme::io {

/// The format of numbers in a file: kind, size and order of bytes.
struct NumberFormat {
  char kind = 'f';  ///< 'f' floating-point, 'i' signed, 'u' unsigned
  std::size_t bytes = 4;
  bool big_endian = false;

  bool operator==(NumberFormat const&) const = default;
};

/// Format of a T on this machine.
template <class T>
constexpr NumberFormat native_format() {
  return {std::is_floating_point_v<T> ? 'f'
          : std::is_signed_v<T>       ? 'i'
                                      : 'u',
          sizeof(T), sizeof(T) > 1 && std::endian::native == std::endian::big};
}

namespace detail {

inline std::uint64_t stored_bits(char const* from, NumberFormat format) {
  std::uint64_t bits = 0;
  for (std::size_t i = 0; i < format.bytes; ++i)
    bits = bits << 8 | static_cast<unsigned char>(from[format.big_endian ? i : format.bytes - 1 - i]);
  return bits;
}

/// The number that 16 bits of IEEE 754 stand for: a sign, 5 bits of exponent and 10 of fraction.
inline double from_half(std::uint64_t bits) {
  int const exponent = static_cast<int>(bits >> 10 & 31);
  auto const fraction = static_cast<double>(bits & 1023);
  double size = exponent == 0 ? std::ldexp(fraction, -24) : std::ldexp(1024 + fraction, exponent - 25);
  if (exponent == 31)
    size = fraction == 0 ? std::numeric_limits<double>::infinity() : std::numeric_limits<double>::quiet_NaN();
  return (bits >> 15 & 1) != 0 ? -size : size;
}

/// f(number), as std::int64_t, std::uint64_t or double: each holds every number of its kind.
template <class F>
void with_stored_number(char const* from, NumberFormat format, F const& f) {
  std::uint64_t const bits = stored_bits(from, format);
  if (format.kind == 'u') return f(bits);
  std::size_t const unused = 64 - 8 * format.bytes;
  if (format.kind == 'i') return f(static_cast<std::int64_t>(bits << unused) >> unused);
  if (format.bytes == 2) return f(from_half(bits));
  f(format.bytes == 4 ? double{std::bit_cast<float>(static_cast<std::uint32_t>(bits))} : std::bit_cast<double>(bits));
}

}  // namespace detail

/// Reads `count` numbers to `values`. \throws FileError naming the byte of a number that T cannot hold, or at which the
/// content ends.
template <class T>
void read_numbers(ByteSource& source, NumberFormat format, std::size_t count, T* values) {
  auto const truncated = [&] {
    source.fail(formatted("is truncated: the content ends at byte {}, before the last of its {} values",
                          source.position(), count));
  };
  if (format == native_format<T>()) {
    std::size_t const size = count * sizeof(T);
    if (count != 0 && source.read(reinterpret_cast<char*>(values), size) != size) truncated();
    return;
  }
  std::array<char, std::size_t{1} << 13> piece;
  for (std::size_t done = 0; done < count;) {
    std::size_t const numbers = std::min(count - done, piece.size() / format.bytes);
    std::size_t const begin = source.position();
    if (source.read(piece.data(), numbers * format.bytes) != numbers * format.bytes) truncated();
    for (std::size_t i = 0; i < numbers; ++i) {
      detail::with_stored_number(piece.data() + i * format.bytes, format, [&](auto number) {
        auto const value = exact_cast<T>(number);
        if (!value)
          source.fail(
              formatted("byte {}: the value {} does not fit the type asked for", begin + i * format.bytes, number));
        values[done + i] = *value;
      });
    }
    done += numbers;
  }
}

}  // namespace trireme::io
