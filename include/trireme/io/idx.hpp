/// IDX, the format of the MNIST files.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <type_traits>
#include <vector>

#include "trireme/error.hpp"
#include "trireme/io/file_content.hpp"
#include "trireme/io/numbers.hpp"
#include "trireme/tensor/host_tensor.hpp"
#include "trireme/text.hpp"

namespace trireme::io {

/// A tensor from an IDX file, plain or compressed with gzip. MNIST's are of bytes; a file of another type is converted
/// where T can hold each value.
///
/// \throws FileError naming the byte at which the file is not what it should be.
template <class T = std::uint8_t>
HostTensor<T> read_idx(std::string const& path);

namespace detail {

// IDX is big endian.
template <class V>
V from_big_endian(char const* bytes) {
  char reversed[sizeof(V)];
  for (std::size_t i = 0; i < sizeof(V); ++i)
    reversed[i] = bytes[std::endian::native == std::endian::little ? sizeof(V) - 1 - i : i];
  V value;
  std::memcpy(&value, reversed, sizeof(V));
  return value;
}

template <class From, class T>
void read_idx_values(std::string const& path, std::vector<char> const& content, std::size_t start, std::size_t size,
                     T* values) {
  for (std::size_t i = 0; i < size; ++i) {
    std::size_t const at = start + i * sizeof(From);
    auto const value = exact_cast<T>(from_big_endian<From>(content.data() + at));
    if (!value)
      throw FileError(path, formatted("byte {}: the value {} does not fit the type asked for", at,
                                      +from_big_endian<From>(content.data() + at)));
    values[i] = *value;
  }
}

}  // namespace detail

template <class T>
HostTensor<T> read_idx(std::string const& path) {
  std::vector<char> const content = file_content(path);
  auto const byte = [&](std::size_t i) { return static_cast<unsigned char>(content[i]); };
  if (content.size() < 4)
    throw FileError(path, formatted("is truncated: an IDX file begins with 4 bytes, but there are {}", content.size()));
  if (byte(0) != 0 || byte(1) != 0)
    throw FileError(path, formatted("byte 0: is no IDX file, which begins with two zero bytes (found {:#04x} {:#04x})",
                                    byte(0), byte(1)));
  unsigned const kind = byte(2);
  std::size_t const element = kind == 0x08 || kind == 0x09   ? 1
                              : kind == 0x0B                 ? 2
                              : kind == 0x0C || kind == 0x0D ? 4
                              : kind == 0x0E                 ? 8
                                                             : 0;
  if (element == 0) throw FileError(path, formatted("byte 2: {:#04x} is no type of an IDX file", kind));
  std::size_t const axes = byte(3);
  if (axes == 0) throw FileError(path, "byte 3: an IDX file without any axis holds no samples");
  std::size_t const start = 4 + 4 * axes;
  if (content.size() < start)
    throw FileError(path, formatted("is truncated: {} extents need a header of {} bytes, but there are {}", axes, start,
                                    content.size()));
  std::vector<std::size_t> extents;
  std::size_t size = 1;
  for (std::size_t axis = 0; axis < axes; ++axis) {
    extents.push_back(detail::from_big_endian<std::uint32_t>(content.data() + 4 + 4 * axis));
    // Extents of a file of another kind may be anything.
    if (__builtin_mul_overflow(size, extents.back(), &size) || size > content.size()) size = std::size_t{1} << 60;
  }
  for (std::size_t extent : extents)
    if (extent == 0) size = 0;
  std::size_t const available = content.size() - start;
  if (size > available / element)
    throw FileError(path,
                    formatted("is truncated: extents {} of {} bytes each do not fit the {} bytes after the header",
                              format_extents(extents), element, available));
  if (size * element != available)
    throw FileError(path, formatted("byte {}: {} bytes follow the last of the {} values", start + size * element,
                                    available - size * element, size));
  NewHostTensor<T> result(std::move(extents), path);
  T* const values = result.memory.get();
  switch (kind) {
    case 0x08:
      detail::read_idx_values<std::uint8_t>(path, content, start, size, values);
      break;
    case 0x09:
      detail::read_idx_values<std::int8_t>(path, content, start, size, values);
      break;
    case 0x0B:
      detail::read_idx_values<std::int16_t>(path, content, start, size, values);
      break;
    case 0x0C:
      detail::read_idx_values<std::int32_t>(path, content, start, size, values);
      break;
    case 0x0D:
      detail::read_idx_values<float>(path, content, start, size, values);
      break;
    default:
      detail::read_idx_values<double>(path, content, start, size, values);
      break;
  }
  return result.tensor;
}

}  // namespace trireme::io
