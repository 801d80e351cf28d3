/// Definitions of trireme/models/shared_weights.hpp.
#pragma once

#include "trireme/models/shared_weights.hpp"

#include <algorithm>
#include <cstddef>
#include <memory>
#include <vector>

#include "trireme/core/linkage.hpp"

namespace trireme::detail {

TRIREME_INLINE void SharedWeights::join(std::shared_ptr<Member> const& member) { members_.push_back(member); }

TRIREME_INLINE std::vector<std::shared_ptr<SharedWeights::Member>> SharedWeights::members() {
  std::erase_if(members_, [](auto const& member) { return member.expired(); });
  std::vector<std::shared_ptr<Member>> alive;
  for (auto const& member : members_) alive.push_back(member.lock());
  return alive;
}

TRIREME_INLINE std::size_t SharedWeights::models() const {
  return static_cast<std::size_t>(
      std::ranges::count_if(members_, [](auto const& member) { return !member.expired(); }));
}

}  // namespace trireme::detail
