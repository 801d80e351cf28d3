/// Extents and sizes that a file states, accepted only if the bytes that are there can hold them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <new>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "trireme/core/error.hpp"
#include "trireme/core/text.hpp"
#include "trireme/tensor/extents.hpp"

namespace trireme::io {

/// As many axes as an array of numpy may have.
inline constexpr std::size_t max_axes = 64;

/// The number of elements of these extents; nothing if there are more than `max_axes`, or if no memory could hold the
/// elements, of `element` bytes each, even with the extents of 0 left out. So no product of these extents wraps.
inline std::optional<std::size_t> stated_elements(std::vector<std::size_t> const& extents, std::size_t element) {
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

/// The number of elements of these extents, each of `element` bytes.
/// \param subject  begins the message: empty, or the place in the file, such as "'layers/dense/vars/0' "
/// \throws FileError unless `available` bytes hold them all
inline std::size_t require_extents(std::string const& path, std::string const& subject,
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

/// A size that a file states as a signed number. \throws FileError unless it is within [0, most]
inline std::size_t require_size(std::string const& path, std::string_view name, std::int64_t stated, std::size_t most) {
  if (stated < 0 || static_cast<std::uint64_t>(stated) > most)
    throw FileError(path, formatted("'{}' is {}, which is not within [0, {}]", name, stated, most));
  return static_cast<std::size_t>(stated);
}

/// Takes the decimal number at the beginning of `text`; nothing if there is none, or one beyond 64 bits.
inline std::optional<std::size_t> take_number(std::string_view& text) {
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

/// f(), which reads the file. \throws FileError in place of the errors of memory that does not suffice
template <class F>
decltype(auto) within_memory(std::string const& path, F const& f) {
  try {
    return f();
  } catch (std::bad_alloc const&) {
    throw FileError(path, "needs more memory than there is");
  } catch (std::length_error const&) {
    throw FileError(path, "needs more memory than there is");
  }
}

}  // namespace trireme::io
