/// Definitions of trireme/io/npy_format.hpp.
#pragma once

#include "trireme/io/npy_format.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <string>
#include <string_view>

#include "trireme/core/linkage.hpp"
#include "trireme/core/text.hpp"
#include "trireme/io/byte_source.hpp"
#include "trireme/io/number_format.hpp"
#include "trireme/io/stated_extents.hpp"
#include "trireme/tensor/extents.hpp"

namespace trireme::io {

TRIREME_INLINE NpyLayout npy_layout(ByteSource& source) {
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
  constexpr std::array<std::string_view, 12> known{"f2", "f4", "f8", "i1", "i2", "i4",
                                                   "i8", "u1", "u2", "u4", "u8", "b1"};
  if (type.size() != 3 || std::find(known.begin(), known.end(), type.substr(1)) == known.end())
    source.fail(formatted("byte {}: the type {} is none of integers, half, float and double", byte_of(described),
                          printable(described.substr(0, described.find(", '")))));
  layout.format.kind = type[1] == 'b' ? 'u' : type[1];
  layout.format.bytes = static_cast<std::size_t>(type[2] - '0');
  bool const native_is_big = std::endian::native == std::endian::big;
  layout.format.big_endian = layout.format.bytes > 1 && (type[0] == '>' || (type[0] != '<' && native_is_big));
  std::string_view const column_major = value_of("fortran_order");
  layout.column_major = column_major.starts_with("True");
  if (!layout.column_major && !column_major.starts_with("False"))
    source.fail(formatted("byte {}: fortran_order is neither True nor False", byte_of(column_major)));

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

}  // namespace trireme::io
