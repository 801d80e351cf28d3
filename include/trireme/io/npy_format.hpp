/// The header of a `.npy` file: what kind of numbers follow, and how many.
/// Source: https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html
#pragma once

#include <bit>
#include <cstddef>
#include <string>
#include <type_traits>
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
NpyLayout npy_layout(ByteSource& source);

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

#ifndef TRIREME_COMPILED
#include "trireme/io/npy_format.ipp"
#endif
