/// Extents and sizes that a file states, accepted only if the bytes that are there can hold them.
#pragma once

#include <cstddef>
#include <cstdint>
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
std::optional<std::size_t> stated_elements(std::vector<std::size_t> const& extents, std::size_t element);

/// The number of elements of these extents, each of `element` bytes.
/// \param subject  begins the message: empty, or the place in the file, such as "'layers/dense/vars/0' "
/// \throws FileError unless `available` bytes hold them all
std::size_t require_extents(std::string const& path, std::string const& subject,
                            std::vector<std::size_t> const& extents, std::size_t element, std::size_t available);

/// A size that a file states as a signed number. \throws FileError unless it is within [0, most]
std::size_t require_size(std::string const& path, std::string_view name, std::int64_t stated, std::size_t most);

/// Takes the decimal number at the beginning of `text`; nothing if there is none, or one beyond 64 bits.
std::optional<std::size_t> take_number(std::string_view& text);

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

#ifndef TRIREME_COMPILED
#include "trireme/io/stated_extents.ipp"
#endif
