/// Definitions of trireme/callbacks/terminal.hpp.
#pragma once

#include "trireme/callbacks/terminal.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <ranges>
#include <string>
#include <string_view>

#include <unistd.h>

#include "trireme/core/linkage.hpp"

// Not <sys/ioctl.h>, whose macros for terminals break the headers of other libraries.
#if defined(__GLIBC__)
#include <asm/ioctls.h>
extern "C" int ioctl(int, unsigned long, ...) noexcept;
#endif

namespace trireme::detail {

TRIREME_INLINE std::string_view variable(char const* name) {
  char const* const text = std::getenv(name);
  return text == nullptr ? std::string_view() : text;
}

TRIREME_INLINE bool has_utf8() {
  for (char const* const name : {"LC_ALL", "LC_CTYPE", "LANG"}) {
    if (variable(name).empty()) continue;
    std::string locale(variable(name));
    std::ranges::transform(locale, locale.begin(), [](unsigned char c) { return std::tolower(c); });
    return locale.find("utf-8") != locale.npos || locale.find("utf8") != locale.npos;
  }
  return false;
}

TRIREME_INLINE std::size_t terminal_columns([[maybe_unused]] int file) {
#if defined(__GLIBC__)
  std::array<unsigned short, 4> size{};  // rows, columns, and both in pixels
  if (ioctl(file, TIOCGWINSZ, size.data()) == 0 && size[1] > 0) return size[1];
#endif
  std::size_t said = 0;
  std::string_view const text = variable("COLUMNS");
  std::from_chars(text.data(), text.data() + text.size(), said);
  return said > 0 ? said : 80;
}

TRIREME_INLINE Terminal Terminal::of(std::FILE* output, std::optional<bool> is_terminal) {
  Terminal found;
  int const file = fileno(output);
  found.moves = is_terminal ? *is_terminal : isatty(file) == 1 && variable("TERM") != "dumb";
  found.colours = found.moves && variable("NO_COLOR").empty() && variable("TERM") != "dumb";
  found.utf8 = has_utf8();
  found.columns = terminal_columns(file);
  return found;
}

TRIREME_INLINE std::string_view over_a_bar(std::FILE* output) {
  return Terminal::of(output, {}).moves ? "\r\x1b[K" : "";
}

}  // namespace trireme::detail
