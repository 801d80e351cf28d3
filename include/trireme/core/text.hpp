/// Text for messages and names.
#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/core.h>

namespace trireme {

namespace detail {

using TextValue = fmt::basic_format_arg<fmt::format_context>;

template <class T>
TextValue text_value(T const& value) {
  return fmt::format_args(fmt::make_format_args(value)).get(0);
}

}  // namespace detail

/// A text with {} for each value, as fmt takes it.
#ifdef TRIREME_CHECK_TEXTS
template <class... Values>
using TextFormat = fmt::format_string<Values...>;
#else
template <class...>
using TextFormat = fmt::string_view;
#endif

/// The text of fmt::format(format, values...), at less compile time: fmt has code for each list of types and checks the
/// format of each call, this has code for each type. The library's own tests define TRIREME_CHECK_TEXTS, with which fmt
/// checks the formats all the same.
/// \throws fmt::format_error if the values do not fit the format
template <class... Values>
std::string formatted(TextFormat<Values...> format, Values const&... values) {
  std::array<detail::TextValue, sizeof...(Values)> const all{detail::text_value(values)...};
  return fmt::vformat(format, fmt::format_args(all.data(), static_cast<int>(all.size())));
}

/// "a, b, c". A range given to fmt would bring fmt's own formatting code into every translation unit.
std::string joined(std::vector<std::string> const& parts, std::string_view separator);

/// The text on one line: line ends, with the white space around them, become blanks; none at its ends.
std::string one_line(std::string_view text);

/// Text of a file for a message: its first `most` bytes, with those that are no printable ASCII written as "\\x0a".
std::string printable(std::string_view text, std::size_t most = 40);

}  // namespace trireme

#ifndef TRIREME_COMPILED
#include "trireme/core/text.ipp"
#endif
