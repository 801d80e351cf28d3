/// Definitions of trireme/core/type_text.hpp.
#pragma once

#include "trireme/core/type_text.hpp"

#include <cctype>
#include <charconv>
#include <cstddef>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include <cxxabi.h>

#include "trireme/core/linkage.hpp"

namespace trireme::detail {

/// Position behind the part of a name that begins or, backwards, ends at `at`: the next comma or bracket around it.
TRIREME_INLINE std::size_t end_of_argument(std::string_view text, std::size_t at, bool backwards) {
  std::string_view const opening = backwards ? ")>]}" : "(<[{", closing = backwards ? "(<[{" : ")>]}";
  std::size_t depth = 0;
  for (; backwards ? at > 0 : at < text.size(); backwards ? --at : ++at) {
    char const c = text[backwards ? at - 1 : at];
    bool const closes = closing.find(c) != std::string_view::npos;
    if (depth == 0 && (closes || c == ',')) break;
    depth += opening.find(c) != std::string_view::npos;
    depth -= closes;
  }
  return at;
}

/// The name with "a function" in place of each type without a name. Compilers call it after the function that it stands
/// in and number it there, or in the whole program.
TRIREME_INLINE std::string without_unnamed(std::string text) {
  static constexpr std::string_view stand_in = "a function";
  for (std::string_view const mark : {"{lambda", "'lambda", "$_", "{unnamed", "._anon"}) {
    for (std::size_t found = 0; (found = text.find(mark, found)) != std::string::npos;) {
      std::size_t begin = end_of_argument(text, found, true);
      while (begin < found && text[begin] == ' ') ++begin;
      text.replace(begin, end_of_argument(text, found, false) - begin, stand_in);
      found = begin + stand_in.size();
    }
  }
  return text;
}

/// The text with "kernel" in place of each detail::Name<(char)107, …>.
TRIREME_INLINE std::string with_names(std::string text) {
  static constexpr std::string_view type = "detail::Name<", character = "(char)";
  for (std::size_t found = 0; (found = text.find(type, found)) != std::string::npos;) {
    std::size_t const end = text.find('>', found);
    if (end == std::string::npos) break;
    std::string name = "\"";
    for (std::size_t at = found; (at = text.find(character, at)) < end;) {
      at += character.size();
      int code = 0;
      std::from_chars(text.data() + at, text.data() + end, code);
      name += static_cast<char>(code);
    }
    name += '"';
    text.replace(found, end + 1 - found, name);
    found += name.size();
  }
  return text;
}

TRIREME_INLINE std::string readable_type(char const* mangled) {
  int status = 0;
  std::unique_ptr<char, void (*)(void*)> const name(abi::__cxa_demangle(mangled, nullptr, nullptr, &status),
                                                    &std::free);
  if (status != 0) return "a type";  // as compilers call a class within some functions
  std::string_view const full = name.get();
  std::string text;
  for (std::size_t i = 0; i < full.size(); ++i) {
    if (full.substr(i).starts_with("trireme::") &&
        (i == 0 || std::isalnum(static_cast<unsigned char>(full[i - 1])) == 0))
      i += std::string_view("trireme::").size();
    bool const suffix =
        full.substr(i).starts_with("ul") && !text.empty() && std::isdigit(static_cast<unsigned char>(text.back())) != 0;
    if (suffix) i += 2;
    if (full.substr(i).starts_with(" >") && text.ends_with('>')) ++i;
    if (i < full.size()) text += full[i];
  }
  return with_names(without_unnamed(std::move(text)));
}

TRIREME_INLINE std::string without_arguments(std::string text) {
  if (std::size_t const arguments = text.find('<'); arguments != std::string::npos) text.resize(arguments);
  if (std::size_t const room = text.rfind("::"); room != std::string::npos) text.erase(0, room + 2);
  return text;
}

}  // namespace trireme::detail
