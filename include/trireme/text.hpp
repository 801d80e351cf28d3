/// Text for messages and names.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace trireme {

/// "a, b, c". A range given to fmt would bring fmt's own formatting code into every translation unit.
inline std::string joined(std::vector<std::string> const& parts, std::string_view separator) {
  std::string text;
  for (std::string const& part : parts) {
    if (&part != &parts.front()) text += separator;
    text += part;
  }
  return text;
}

}  // namespace trireme
