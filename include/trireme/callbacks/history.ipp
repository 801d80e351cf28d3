/// Definitions of trireme/callbacks/history.hpp.
#pragma once

#include "trireme/callbacks/history.hpp"

#include <string>
#include <string_view>
#include <vector>

#include "trireme/core/error.hpp"
#include "trireme/core/linkage.hpp"
#include "trireme/core/text.hpp"

namespace trireme {

TRIREME_INLINE std::vector<double> const& History::operator[](std::string_view name) const& {
  for (auto const& [key, column] : values) {
    if (key == name) return column;
  }
  if (values.empty()) throw ValueError(formatted("the history has no '{}': no epoch was trained", name));
  throw ValueError(formatted("the history has no '{}', only: {}", name, names()));
}

TRIREME_INLINE bool History::contains(std::string_view name) const {
  for (auto const& entry : values) {
    if (entry.first == name) return true;
  }
  return false;
}

TRIREME_INLINE std::string History::names() const {
  std::string text;
  for (auto const& entry : values) text += (text.empty() ? "" : ", ") + entry.first;
  return text;
}

TRIREME_INLINE std::vector<double>& History::series(std::string_view name) {
  for (auto& [key, column] : values) {
    if (key == name) return column;
  }
  return values.emplace_back(std::string(name), std::vector<double>{}).second;
}

}  // namespace trireme
