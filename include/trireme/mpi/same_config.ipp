/// Definitions of trireme/mpi/same_config.hpp.
#pragma once

#include "trireme/mpi/same_config.hpp"

#include <algorithm>
#include <cstddef>
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

TRIREME_INLINE ConfigDifference config_difference(std::string_view first, std::string_view second) {
  auto const line = [](std::string_view& rest) {
    std::string_view const all = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(rest.size(), all.size() + 1));
    std::size_t const tab = all.find('\t');
    return all.empty() ? Config::Entry{"nothing more", {}}
                       : Config::Entry{std::string(all.substr(0, tab)), std::string(all.substr(tab + 1))};
  };
  while (true) {
    Config::Entry const one = line(first), other = line(second);
    if (one.name == other.name && one.value == other.value && !(first.empty() && second.empty())) continue;
    auto const shown = [](Config::Entry const& e) { return e.value.empty() ? e.name : e.name + " " + e.value; };
    return {shown(one), one.name == other.name ? other.value : shown(other)};
  }
}

}  // namespace trireme::detail
