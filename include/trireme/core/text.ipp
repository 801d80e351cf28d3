/// Definitions of trireme/core/text.hpp.
#pragma once

#include "trireme/core/text.hpp"

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
