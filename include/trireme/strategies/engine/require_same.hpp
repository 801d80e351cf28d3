/// require_same, require_same_weights: checks that all processes of a group have the same bits.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "trireme/core/error.hpp"
#include "trireme/core/hash.hpp"
#include "trireme/core/text.hpp"
#include "trireme/strategies/engine/group_member.hpp"

namespace trireme::detail {

/// Throws message(rank) on all processes if some rank's sum is not the chief's. Collective.
template <class Group, class Message>
void require_same(Group const& group, std::uint64_t sum, Message const& message) {
  if (group.allreduce_min(sum).value() == group.allreduce_max(sum).value()) return;
  std::vector<std::uint64_t> const sums = group.allgather(sum);
  auto const differs = std::find_if(sums.begin(), sums.end(), [&](std::uint64_t s) { return s != sums[0]; });
  raise_uniform(Error(message(static_cast<std::size_t>(differs - sums.begin()))));
}

/// Throws on all processes if some process's weights after `step` are not bitwise the chief's; any NaN is as another.
/// Collective.
template <class Group, class T>
void require_same_weights(Group const& group, std::vector<T> weights, std::uint64_t step) {
  require_same(group, data::hash_numbers(std::move(weights)), [&](std::size_t rank) {
    constexpr char const* name = member_name<Group>;
    return formatted("the weights of {} {} differ from those of {} 0 after step {}", name, rank, name, step);
  });
}

}  // namespace trireme::detail
