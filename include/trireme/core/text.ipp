/// Definitions of trireme/core/text.hpp.
#pragma once

#include "trireme/core/text.hpp"

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "trireme/core/linkage.hpp"

namespace trireme {

TRIREME_INLINE std::string joined(std::vector<std::string> const& parts, std::string_view separator) {
  std::string text;
  for (std::string const& part : parts) {
    if (&part != &parts.front()) text += separator;
    text += part;
  }
  return text;
}

TRIREME_INLINE std::string one_line(std::string_view text) {
  constexpr std::string_view white = " \t\r\n", ends = "\r\n";
  std::string line;
  while (!text.empty()) {
    std::size_t const size = std::min(text.find_first_of(ends), text.size());
    std::string_view part = text.substr(0, size);
    text.remove_prefix(std::min(size + 1, text.size()));
    part.remove_prefix(std::min(part.find_first_not_of(white), part.size()));
    part = part.substr(0, part.find_last_not_of(white) + 1);
    if (!line.empty() && !part.empty()) line += ' ';
    line += part;
  }
  return line;
}

TRIREME_INLINE std::string printable(std::string_view text, std::size_t most) {
  std::string result;
  for (char const c : text.substr(0, most)) {
    if (c >= ' ' && c <= '~')
      result += c;
    else
      result += formatted("\\x{:02x}", static_cast<unsigned char>(c));
  }
  return result;
}

}  // namespace trireme
