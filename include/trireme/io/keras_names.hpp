/// The names that Keras gives to layers.
#pragma once

#include <cctype>
#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace trireme {

/// "MaxPooling2D" becomes "max_pooling2d", "ReLU" "re_lu", "LSTM" "lstm".
///
/// As in Keras: an underscore before each capital with small letters after it, then one between each small letter and
/// the capital that follows it.
inline std::string keras_snake_case(std::string_view name) {
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

/// The groups of a model's layers in a file: {"Conv2D", "Dense", "Conv2D"} gives {"conv2d", "dense", "conv2d_1"}.
inline std::vector<std::string> keras_layer_names(std::vector<std::string> const& classes) {
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
