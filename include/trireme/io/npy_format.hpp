/// The header of a `.npy` file: what kind of numbers follow, how many, and from which byte on.
/// Source: https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cstddef>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "trireme/error.hpp"
#include "trireme/tensor/extents.hpp"
#include "trireme/text.hpp"

namespace trireme::io {

struct NpyLayout {
  std::string type;      ///< "f4", "i8", "u1", ...: kind and bytes of a number
  bool swapped = false;  ///< the bytes of a number are in the other order than this machine's
  bool column_major = false;
  std::vector<std::size_t> extents;
  std::size_t size = 1;   ///< numbers
  std::size_t start = 0;  ///< byte of the first one
};

/// Reads the header. \throws FileError naming the byte at which it is not what it should be.
inline NpyLayout npy_layout(std::string const& path, std::vector<char> const& content) {
  auto const byte = [&](std::size_t i) { return std::size_t{static_cast<unsigned char>(content[i])}; };
  std::string_view const text(content.data(), content.size());
  std::string_view const magic("\x93NUMPY", 6);
  if (!text.starts_with(magic.substr(0, std::min(magic.size(), text.size()))))
    throw FileError(path, "byte 0: is no .npy file, which begins with \\x93NUMPY");
  std::size_t const prefix = text.size() > 6 && text[6] != 1 ? 12 : 10;
  if (text.size() < prefix)
    throw FileError(path,
                    formatted("is truncated: a header has at least {} bytes, but there are {}", prefix, text.size()));
  if (byte(6) < 1 || byte(6) > 3)
    throw FileError(path, formatted("byte 6: version {} of .npy files is not known", byte(6)));
  std::size_t length = byte(8) + (byte(9) << 8);
  if (prefix == 12) length += (byte(10) << 16) + (byte(11) << 24);
  if (length > text.size() - prefix)
    throw FileError(path,
                    formatted("is truncated: the header has {} bytes, but there are {}", prefix + length, text.size()));
  std::string_view const header = text.substr(prefix, length);

  // A Python dictionary, which numpy writes in one way only.
  auto const value_of = [&](std::string_view key) {
    std::size_t const at = header.find(formatted("'{}':", key));
    if (at == std::string_view::npos)
      throw FileError(path, formatted("byte {}: the header has no entry '{}'", prefix, key));
    std::string_view value = header.substr(at + key.size() + 3);
    value.remove_prefix(std::min(value.find_first_not_of(' '), value.size()));
    return value;
  };
  NpyLayout layout;
  layout.start = prefix + length;
  std::string_view const described = value_of("descr");
  std::string_view const type = described.starts_with('\'') ? described.substr(1, described.find('\'', 1) - 1) : "";
  constexpr std::array<std::string_view, 11> known{"f4", "f8", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "b1"};
  if (type.size() != 3 || std::find(known.begin(), known.end(), type.substr(1)) == known.end())
    throw FileError(
        path, formatted("byte {}: the type {} is none of integers, float and double", described.data() - text.data(),
                        described.substr(0, std::min(described.find(", '"), std::size_t{40}))));
  layout.type = type.substr(1);
  layout.swapped = type[0] == (std::endian::native == std::endian::little ? '>' : '<');
  layout.column_major = value_of("fortran_order").starts_with("True");

  std::string_view shape = value_of("shape");
  shape = shape.substr(0, shape.find(')'));
  bool too_many = false;
  for (char const* at = shape.data(); at != shape.data() + shape.size();) {
    if (*at == '(' || *at == ',' || *at == ' ') {
      ++at;
      continue;
    }
    std::size_t extent = 0;
    auto const [end, error] = std::from_chars(at, shape.data() + shape.size(), extent);
    if (error != std::errc{}) throw FileError(path, formatted("byte {}: '{}' is no shape", at - text.data(), shape));
    too_many = too_many || __builtin_mul_overflow(layout.size, extent, &layout.size);
    layout.extents.push_back(extent);
    at = end;
  }
  std::size_t const element = static_cast<std::size_t>(layout.type[1] - '0');
  std::size_t const available = text.size() - layout.start;
  if (too_many || layout.size > available / element)
    throw FileError(path,
                    formatted("is truncated: extents {} of {} bytes each do not fit the {} bytes after the header",
                              format_extents(layout.extents), element, available));
  return layout;
}

/// A header that numpy reads, for row-major numbers of this machine's byte order.
template <class T>
std::string npy_header(std::vector<std::size_t> const& extents) {
  static_assert(std::is_arithmetic_v<T>, "trireme: a .npy file holds numbers");
  char const kind = std::is_same_v<T, bool> ? 'b' : std::is_floating_point_v<T> ? 'f' : std::is_signed_v<T> ? 'i' : 'u';
  char const order = sizeof(T) == 1 ? '|' : std::endian::native == std::endian::little ? '<' : '>';
  std::string header = formatted("{{'descr': '{}{}{}', 'fortran_order': False, 'shape': {}, }}", order, kind, sizeof(T),
                                 format_extents(extents));
  constexpr std::size_t prefix = 10;
  // The numbers begin at a multiple of 64 bytes.
  header.append(63 - (prefix + header.size()) % 64, ' ');
  header += '\n';
  std::string result("\x93NUMPY\x01\x00", 8);
  result += static_cast<char>(header.size() & 0xFF);
  result += static_cast<char>(header.size() >> 8);
  return result + header;
}

}  // namespace trireme::io
