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
  for (auto const& [name, value] : config.entries()) text.append(name).append("\t").append(value).append("\n");
  return text;
}

TRIREME_INLINE std::string config_difference(std::string_view own, std::string_view chief) {
  auto const line = [](std::string_view& rest) {
    std::string_view const all = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(rest.size(), all.size() + 1));
    std::size_t const tab = all.find('\t');
    return all.empty() ? Config::Entry{"nothing more", ""}
                       : Config::Entry{std::string(all.substr(0, tab)), std::string(all.substr(tab + 1))};
  };
  while (true) {
    Config::Entry const mine = line(own), theirs = line(chief);
    if (mine.name == theirs.name && mine.value == theirs.value && !(own.empty() && chief.empty())) continue;
    auto const shown = [](Config::Entry const& e) { return e.value.empty() ? e.name : e.name + " " + e.value; };
    return formatted("{} where rank 0 has {}", shown(mine), mine.name == theirs.name ? theirs.value : shown(theirs));
  }
}

}  // namespace trireme::detail
