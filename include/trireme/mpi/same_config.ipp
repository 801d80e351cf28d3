/// Definitions of trireme/mpi/same_config.hpp.
#pragma once

#include "trireme/mpi/same_config.hpp"

#include <algorithm>
#include <cstddef>
#include <initializer_list>
#include <string>
#include <string_view>

#include "trireme/core/config.hpp"
#include "trireme/core/error.hpp"
#include "trireme/core/linkage.hpp"
#include "trireme/core/text.hpp"

namespace trireme::detail {

TRIREME_INLINE std::string config_text(Config const& config) {
  std::string text;
  for (auto const& entry : config.entries()) text.append(entry.name).append("\t").append(entry.value).append("\n");
  return text;
}

/// Cuts texts that are long, such as the types of models, to what is around their first difference.
TRIREME_INLINE void cut_around_difference(std::string& first, std::string& second) {
  constexpr std::size_t most = 160, before = 60;
  if (std::max(first.size(), second.size()) <= most) return;
  auto const same = static_cast<std::size_t>(std::ranges::mismatch(first, second).in1 - first.begin());
  std::size_t const begin = same - std::min(same, before);
  for (std::string* text : {&first, &second}) {
    bool const is_whole = text->size() <= begin + most;
    *text = (begin > 0 ? "..." : "") + text->substr(begin, most) + (is_whole ? "" : "...");
  }
}

TRIREME_INLINE ConfigDifference config_difference(std::string_view first, std::string_view second) {
  auto const line = [](std::string_view& rest) {
    std::string_view const all = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(rest.size(), all.size() + 1));
    std::size_t const tab = all.find('\t');
    return all.empty() ? Config::Entry{"nothing more", {}}
                       : Config::Entry{std::string(all.substr(0, tab)), std::string(all.substr(tab + 1))};
  };
  while (true) {
    Config::Entry one = line(first), other = line(second);
    if (one.name == other.name && one.value == other.value && !(first.empty() && second.empty())) continue;
    if (one.name == other.name) cut_around_difference(one.value, other.value);
    auto const shown = [](Config::Entry const& e) { return e.value.empty() ? e.name : e.name + " " + e.value; };
    return {shown(one), one.name == other.name ? other.value : shown(other)};
  }
}

}  // namespace trireme::detail
