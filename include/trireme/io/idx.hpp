/// IDX, the format of the MNIST files.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include "trireme/core/text.hpp"
#include "trireme/io/byte_source.hpp"
#include "trireme/io/number_format.hpp"
#include "trireme/io/stated_extents.hpp"
#include "trireme/tensor/host_tensor.hpp"

namespace trireme::io {

/// A tensor from an IDX file, plain or compressed with gzip. MNIST's are of bytes; a file of another type is converted
/// where T can hold each value.
///
/// \throws FileError naming the byte at which the file is not what it should be.
template <class T = std::uint8_t>
HostTensor<T> read_idx(std::string const& path);

/// The same from a source of bytes.
template <class T = std::uint8_t>
HostTensor<T> read_idx(ByteSource& source);

namespace detail {

/// The numbers of an IDX file, which are big-endian; none where the code is unknown.
inline std::optional<NumberFormat> idx_format(unsigned code) {
  switch (code) {
    case 0x08:
      return NumberFormat{'u', 1};
    case 0x09:
      return NumberFormat{'i', 1};
    case 0x0B:
      return NumberFormat{'i', 2, true};
    case 0x0C:
      return NumberFormat{'i', 4, true};
    case 0x0D:
      return NumberFormat{'f', 4, true};
    case 0x0E:
      return NumberFormat{'f', 8, true};
    default:
      return std::nullopt;
  }
}

struct IdxLayout {
  NumberFormat format;
  std::vector<std::size_t> extents;
  std::size_t size = 0;  ///< numbers
};

inline IdxLayout idx_layout(ByteSource& source) {
  std::string const begin = source.text(4);
  auto const byte = [&](std::size_t i) { return static_cast<unsigned char>(begin[i]); };
  if (begin.size() < 4)
    source.fail(formatted("is truncated: an IDX file begins with 4 bytes, but there are {}", begin.size()));
  if (byte(0) != 0 || byte(1) != 0)
    source.fail(formatted("byte 0: is no IDX file, which begins with two zero bytes (found {:#04x} {:#04x})", byte(0),
                          byte(1)));
  auto const format = idx_format(byte(2));
  if (!format) source.fail(formatted("byte 2: {:#04x} is no type of an IDX file", byte(2)));
  std::size_t const axes = byte(3);
  if (axes == 0) source.fail("byte 3: an IDX file without any axis holds no samples");
  std::string const sizes = source.text(4 * axes);
  if (sizes.size() < 4 * axes)
    source.fail(formatted("is truncated: {} extents need a header of {} bytes, but there are {}", axes, 4 + 4 * axes,
                          4 + sizes.size()));
  IdxLayout layout{*format, {}, 0};
  for (std::size_t axis = 0; axis < axes; ++axis)
    layout.extents.push_back(static_cast<std::size_t>(stored_bits(sizes.data() + 4 * axis, {'u', 4, true})));
  layout.size = require_extents(source.path(), source.subject(), layout.extents, layout.format.bytes, source.left());
  return layout;
}

}  // namespace detail

template <class T>
HostTensor<T> read_idx(ByteSource& source) {
  static_assert(std::is_arithmetic_v<T> && !std::is_same_v<T, bool>,
                "trireme: read_idx reads numbers, such as float, double or std::int32_t");
  return within_memory(source.path(), [&] {
    detail::IdxLayout const layout = detail::idx_layout(source);
    NewHostTensor<T> result(layout.extents, source.path());
    read_numbers(source, layout.format, layout.size, result.memory.get());
    source.require_end(layout.size);
    return result.tensor;
  });
}

template <class T>
HostTensor<T> read_idx(std::string const& path) {
  ByteSource source(path);
  return read_idx<T>(source);
}

}  // namespace trireme::io
