/// Definitions of trireme/core/type_text.hpp.
#pragma once

#include "trireme/core/type_text.hpp"

#include <cctype>
#include <cstddef>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>

#include <cxxabi.h>

#include "trireme/core/linkage.hpp"

namespace trireme::detail {

TRIREME_INLINE std::string readable_type(char const* mangled) {
  int status = 0;
  std::unique_ptr<char, void (*)(void*)> const name(abi::__cxa_demangle(mangled, nullptr, nullptr, &status),
                                                    &std::free);
  std::string_view const full = status == 0 ? name.get() : mangled;
  std::string text;
  for (std::size_t i = 0; i < full.size(); ++i) {
    if (full.substr(i).starts_with("trireme::") &&
        (i == 0 || std::isalnum(static_cast<unsigned char>(full[i - 1])) == 0))
      i += std::string_view("trireme::").size();
    bool const suffix =
        full.substr(i).starts_with("ul") && !text.empty() && std::isdigit(static_cast<unsigned char>(text.back())) != 0;
    if (suffix) i += 2;
    if (i < full.size()) text += full[i];
  }
  // A lambda is named after the function that it stands in, and after its number there: the rest of the type tells.
  bool const has_lambda = text.find("lambda") != std::string::npos;
  return has_lambda ? text.substr(0, text.find('<')) : text;
}

TRIREME_INLINE std::string without_arguments(std::string text) {
  if (std::size_t const arguments = text.find('<'); arguments != std::string::npos) text.resize(arguments);
  if (std::size_t const room = text.rfind("::"); room != std::string::npos) text.erase(0, room + 2);
  return text;
}

}  // namespace trireme::detail
