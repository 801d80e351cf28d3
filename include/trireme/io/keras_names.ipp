/// Definitions of trireme/io/keras_names.hpp.
#pragma once

#include "trireme/io/keras_names.hpp"

#include <cctype>
#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "trireme/core/linkage.hpp"

namespace trireme {

TRIREME_INLINE std::string keras_snake_case(std::string_view name) {
  auto const upper = [](char c) { return c >= 'A' && c <= 'Z'; };
  auto const lower = [](char c) { return c >= 'a' && c <= 'z'; };
  std::string words;
  for (std::size_t i = 0; i < name.size(); ++i) {
    words += name[i];
    if (i + 2 >= name.size() || !upper(name[i + 1]) || !lower(name[i + 2])) continue;
    words += '_';
    words += name[++i];
    while (i + 1 < name.size() && lower(name[i + 1])) words += name[++i];
  }
  std::string text;
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (i > 0 && lower(words[i - 1]) && upper(words[i])) text += '_';
    text += static_cast<char>(std::tolower(static_cast<unsigned char>(words[i])));
  }
  return text;
}

TRIREME_INLINE std::vector<std::string> keras_layer_names(std::vector<std::string> const& classes) {
  std::map<std::string, std::size_t> seen;
  std::vector<std::string> names;
  for (auto const& name : classes) {
    std::string text = keras_snake_case(name);
    std::size_t const earlier = seen[text]++;
    names.push_back(earlier == 0 ? text : text + "_" + std::to_string(earlier));
  }
  return names;
}

}  // namespace trireme
