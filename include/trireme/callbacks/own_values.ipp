/// Definitions of trireme/callbacks/own_values.hpp.
#pragma once

#include "trireme/callbacks/own_values.hpp"

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "trireme/core/linkage.hpp"
#include "trireme/core/text.hpp"
#include "trireme/io/numbers.hpp"
#include "trireme/io/stored_tensor.hpp"

namespace trireme::detail {

/// True of a value of a callback that each process has.
TRIREME_INLINE bool is_of_callbacks(std::string_view name) {
  return name.starts_with("callbacks/") && !name.ends_with(of_chief);
}

TRIREME_INLINE StoredTensors values_of_callbacks(StoredTensors const& run) {
  StoredTensors own;
  for (auto const& [name, tensor] : run)
    if (is_of_callbacks(name)) own.emplace(name, tensor);
  return own;
}

TRIREME_INLINE void set_values_of_callbacks(StoredTensors& run, StoredTensors own) {
  std::erase_if(run, [](auto const& entry) { return is_of_callbacks(entry.first); });
  run.merge(std::move(own));
}

TRIREME_INLINE OwnValues take_own_values(StoredTensors& run) {
  OwnValues own;
  std::string_view const folder = "own/";
  for (auto at = run.lower_bound(folder); at != run.end() && at->first.starts_with(folder); at = run.erase(at)) {
    std::string_view rest = std::string_view(at->first).substr(folder.size());
    std::optional<std::size_t> const rank = io::take_number(rest);
    if (rank && rest.starts_with('/') && is_of_callbacks(rest.substr(1)))
      own[*rank].emplace(rest.substr(1), std::move(at->second));
  }
  return own;
}

TRIREME_INLINE bool was_saved_by(std::size_t processes, StoredTensors const& run) {
  auto const found = run.find("ranks");
  std::int64_t ranks = 0;
  if (found == run.end() || found->second.bytes.size() != sizeof(ranks)) return true;  // the archive says what is wrong
  std::memcpy(&ranks, found->second.bytes.data(), sizeof(ranks));
  return std::cmp_equal(ranks, processes);
}

TRIREME_INLINE std::string differing_value(OwnValues const& own, StoredTensors const& run) {
  for (auto const& [rank, tensors] : own)
    for (auto const& [name, tensor] : tensors) {
      auto const found = run.find(name);
      if (found == run.end() || found->second.bytes != tensor.bytes) return name;
    }
  return {};
}

}  // namespace trireme::detail
