/// Definitions of trireme/io/stated_extents.hpp.
#pragma once

#include "trireme/io/stated_extents.hpp"

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "trireme/core/error.hpp"
#include "trireme/core/linkage.hpp"
#include "trireme/core/text.hpp"
#include "trireme/tensor/extents.hpp"

namespace trireme::io {

TRIREME_INLINE std::optional<std::size_t> stated_elements(std::vector<std::size_t> const& extents,
                                                          std::size_t element) {
  if (extents.size() > max_axes) return std::nullopt;
  std::size_t product = element;
  bool empty = false;
  for (std::size_t const extent : extents) {
    empty = empty || extent == 0;
    if (extent != 0 && __builtin_mul_overflow(product, extent, &product)) return std::nullopt;
  }
  if (product > static_cast<std::size_t>(std::numeric_limits<std::ptrdiff_t>::max())) return std::nullopt;
  return empty ? 0 : product / element;
}

TRIREME_INLINE std::size_t require_extents(std::string const& path, std::string const& subject,
                                           std::vector<std::size_t> const& extents, std::size_t element,
                                           std::size_t available) {
  if (extents.size() > max_axes)
    throw FileError(path,
                    formatted("{}has {} extents, more than the {} of any array", subject, extents.size(), max_axes));
  auto const elements = stated_elements(extents, element);
  if (!elements || *elements > available / element)
    throw FileError(
        path, formatted("{}is truncated: extents {} of {} bytes each do not fit the {} bytes after the header", subject,
                        format_extents(extents), element, available));
  return *elements;
}

TRIREME_INLINE std::size_t require_size(std::string const& path, std::string_view name, std::int64_t stated,
                                        std::size_t most) {
  if (stated < 0 || static_cast<std::uint64_t>(stated) > most)
    throw FileError(path, formatted("'{}' is {}, which is not within [0, {}]", name, stated, most));
  return static_cast<std::size_t>(stated);
}

TRIREME_INLINE std::optional<std::size_t> take_number(std::string_view& text) {
  std::size_t value = 0, digits = 0;
  for (; digits < text.size() && text[digits] >= '0' && text[digits] <= '9'; ++digits) {
    auto const digit = static_cast<std::size_t>(text[digits] - '0');
    if (__builtin_mul_overflow(value, std::size_t{10}, &value) || __builtin_add_overflow(value, digit, &value))
      return std::nullopt;
  }
  if (digits == 0) return std::nullopt;
  text.remove_prefix(digits);
  return value;
}

}  // namespace trireme::io
