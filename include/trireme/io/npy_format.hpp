/// The header of a `.npy` file: what kind of numbers follow, and how many.
/// Source: https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "trireme/core/text.hpp"
#include "trireme/io/byte_source.hpp"
#include "trireme/io/number_format.hpp"
#include "trireme/io/stated_extents.hpp"
#include "trireme/tensor/extents.hpp"

namespace trireme::io {

/// The header of a `.npy` file: the format of its numbers, their order and extents.
struct NpyLayout {
  NumberFormat format;
  bool column_major = false;
  std::vector<std::size_t> extents;
  std::size_t size = 0;  ///< numbers
};

/// Reads the header, after which the numbers begin. \throws FileError naming the byte at which it is not what it should
/// be, or if there cannot be as many numbers as it states.
inline NpyLayout npy_layout(ByteSource& source) {
  std::string prefix = source.text(10);
  auto const byte = [&](std::size_t i) { return std::size_t{static_cast<unsigned char>(prefix[i])}; };
  std::string_view const magic("\x93NUMPY", 6);
  if (!prefix.starts_with(magic.substr(0, std::min(magic.size(), prefix.size()))))
    source.fail("byte 0: is no .npy file, which begins with \\x93NUMPY");
  bool const is_long = prefix.size() > 6 && prefix[6] != 1;
  if (is_long) prefix += source.text(2);
  if (prefix.size() < (is_long ? 12 : 10))
    source.fail(
        formatted("is truncated: a header has at least {} bytes, but there are {}", is_long ? 12 : 10, prefix.size()));
  if (byte(6) < 1 || byte(6) > 3) source.fail(formatted("byte 6: version {} of .npy files is not known", byte(6)));
  std::size_t length = byte(8) + (byte(9) << 8);
  if (is_long) length += (byte(10) << 16) + (byte(11) << 24);
  constexpr std::size_t longest = std::size_t{1} << 16;  // of an array of numbers, with any number of axes
  if (length > longest) source.fail(formatted("byte 8: a header of {} bytes is none of an array of numbers", length));
  std::string const text = source.text(length);
  if (text.size() < length)
    source.fail(formatted("is truncated: the header has {} bytes, but there are {}", prefix.size() + length,
                          prefix.size() + text.size()));
  std::string_view const header = text;

  // A Python dictionary, which numpy writes in one way only.
  auto const value_of = [&](std::string_view key) {
    std::size_t const at = header.find(formatted("'{}':", key));
    if (at == std::string_view::npos)
      source.fail(formatted("byte {}: the header has no entry '{}'", prefix.size(), key));
    std::string_view value = header.substr(at + key.size() + 3);
    value.remove_prefix(std::min(value.find_first_not_of(' '), value.size()));
    return value;
  };
  auto const byte_of = [&](std::string_view value) {
    return prefix.size() + static_cast<std::size_t>(value.data() - header.data());
  };
  NpyLayout layout;
  std::string_view const described = value_of("descr");
  std::string_view const type = described.starts_with('\'') ? described.substr(1, described.find('\'', 1) - 1) : "";
  constexpr std::array<std::string_view, 11> known{"f4", "f8", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "b1"};
  if (type.size() != 3 || std::find(known.begin(), known.end(), type.substr(1)) == known.end())
    source.fail(formatted("byte {}: the type {} is none of integers, float and double", byte_of(described),
                          printable(described.substr(0, described.find(", '")))));
  layout.format.kind = type[1] == 'b' ? 'u' : type[1];
  layout.format.bytes = static_cast<std::size_t>(type[2] - '0');
  bool const native_is_big = std::endian::native == std::endian::big;
  layout.format.big_endian = layout.format.bytes > 1 && (type[0] == '>' || (type[0] != '<' && native_is_big));
  layout.column_major = value_of("fortran_order").starts_with("True");

  std::string_view shape = value_of("shape");
  shape = shape.substr(0, shape.find(')'));
  for (std::string_view rest = shape; !rest.empty();) {
    if (rest.front() == '(' || rest.front() == ',' || rest.front() == ' ') {
      rest.remove_prefix(1);
      continue;
    }
    std::string_view const at = rest;
    auto const extent = take_number(rest);
    if (!extent) source.fail(formatted("byte {}: '{}' is no shape", byte_of(at), printable(shape)));
    layout.extents.push_back(*extent);
  }
  layout.size = require_extents(source.path(), source.subject(), layout.extents, layout.format.bytes, source.left());
  return layout;
}

namespace detail {

/// Values that lie in columns, brought into rows.
template <class T>
void transpose_columns(std::vector<std::size_t> const& extents, std::vector<T> const& from, T* to) {
  std::size_t const axes = extents.size();
  std::vector<std::size_t> index(axes, 0), stride(axes, 1);
  for (std::size_t axis = axes; axis-- > 1;) stride[axis - 1] = stride[axis] * extents[axis];
  std::size_t at = 0;
  for (T const value : from) {
    to[at] = value;
    for (std::size_t axis = 0; axis < axes; ++axis) {
      at += stride[axis];
      if (++index[axis] < extents[axis]) break;
      at -= stride[axis] * index[axis];
      index[axis] = 0;
    }
  }
}

}  // namespace detail

/// Reads the numbers to `values`, row-major, and finds that nothing follows them.
/// \throws FileError naming the byte of a number that T cannot hold
template <class T>
void read_npy_values(ByteSource& source, NpyLayout const& layout, T* values) {
  if (layout.column_major && layout.extents.size() > 1) {
    std::vector<T> columns(layout.size);
    read_numbers(source, layout.format, layout.size, columns.data());
    detail::transpose_columns(layout.extents, columns, values);
  } else {
    read_numbers(source, layout.format, layout.size, values);
  }
  source.require_end(layout.size);
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
