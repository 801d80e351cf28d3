/// Definitions of trireme/callbacks/terminal.hpp.
#pragma once

#include "trireme/callbacks/terminal.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cstddef>
#include <cstdint>
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

/// First letter of a text in UTF-8 that is not empty: its bytes, and the columns that terminals give it. A byte that
/// begins no letter stands for itself.
struct Letter {
  std::size_t bytes = 1, columns = 1;

  explicit Letter(std::string_view text) {
    auto const byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
    std::size_t const length = byte(0) >= 0xF0 ? 4 : byte(0) >= 0xE0 ? 3 : byte(0) >= 0xC0 ? 2 : 1;
    std::uint32_t code = byte(0) & (length == 1 ? 0xFFu : 0xFFu >> (length + 1));
    for (; bytes < length; ++bytes) {
      if (bytes == text.size() || (byte(bytes) & 0xC0) != 0x80) return;
      code = code << 6 | (byte(bytes) & 0x3Fu);
    }
    // Marks above the letter before; letters of East Asia, and pictures.
    static constexpr std::array<std::array<std::uint32_t, 2>, 2> none{{{0x300, 0x36F}, {0x200B, 0x200F}}};
    static constexpr std::array<std::array<std::uint32_t, 2>, 8> two{{{0x1100, 0x115F},
                                                                      {0x2E80, 0xA4CF},
                                                                      {0xAC00, 0xD7A3},
                                                                      {0xF900, 0xFAFF},
                                                                      {0xFE30, 0xFE6F},
                                                                      {0xFF00, 0xFF60},
                                                                      {0x1F300, 0x1FAFF},
                                                                      {0x20000, 0x3FFFD}}};
    auto const holds = [&](auto const& range) { return code >= range[0] && code <= range[1]; };
    if (std::ranges::any_of(none, holds)) columns = 0;
    if (std::ranges::any_of(two, holds)) columns = 2;
  }
};

TRIREME_INLINE std::string_view first_columns(std::string_view text, std::size_t columns, bool utf8) {
  std::size_t end = 0, taken = 0;
  while (end < text.size()) {
    Letter const letter(text.substr(end));
    taken += utf8 ? letter.columns : letter.bytes;
    if (taken > columns) break;
    end += letter.bytes;
  }
  return text.substr(0, end);
}

TRIREME_INLINE std::size_t text_columns(std::string_view text, bool utf8) {
  if (!utf8) return text.size();
  std::size_t taken = 0;
  for (std::size_t i = 0; i < text.size();) {
    Letter const letter(text.substr(i));
    taken += letter.columns;
    i += letter.bytes;
  }
  return taken;
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
