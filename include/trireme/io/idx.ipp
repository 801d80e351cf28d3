/// Definitions of trireme/io/idx.hpp.
#pragma once

#include "trireme/io/idx.hpp"

#include <cstddef>
#include <optional>
#include <string>

#include "trireme/core/linkage.hpp"
#include "trireme/core/text.hpp"
#include "trireme/io/byte_source.hpp"
#include "trireme/io/number_format.hpp"
#include "trireme/io/stated_extents.hpp"
#include "trireme/tensor/host_tensor.hpp"

namespace trireme::io::detail {

TRIREME_INLINE std::optional<NumberFormat> idx_format(unsigned code) {
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

TRIREME_INLINE IdxLayout idx_layout(ByteSource& source) {
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

}  // namespace trireme::io::detail
