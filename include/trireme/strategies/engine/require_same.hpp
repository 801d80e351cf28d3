/// require_same: a check that all processes of a group have the same bits.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "trireme/core/error.hpp"

namespace trireme::detail {

/// Throws message(rank) on all processes if some rank's sum is not the chief's. Collective.
template <class Group, class Message>
void require_same(Group const& group, std::uint64_t sum, Message const& message) {
  if (group.allreduce_min(sum).value() == group.allreduce_max(sum).value()) return;
  std::vector<std::uint64_t> const sums = group.allgather(sum);
  auto const differs = std::find_if(sums.begin(), sums.end(), [&](std::uint64_t s) { return s != sums[0]; });
  raise_uniform(Error(message(static_cast<std::size_t>(differs - sums.begin()))));
}

}  // namespace trireme::detail
