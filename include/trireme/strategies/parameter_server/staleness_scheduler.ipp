/// Definitions of trireme/strategies/parameter_server/staleness_scheduler.hpp.
#pragma once

#include "trireme/strategies/parameter_server/staleness_scheduler.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

#include "trireme/core/linkage.hpp"

namespace trireme {

TRIREME_INLINE void StalenessScheduler::start_epoch(std::uint64_t updates) {
  updates_ = first_number_ = updates;
  first_.reset();
  next_ = 0;
  end_ = std::numeric_limits<std::size_t>::max();
}

TRIREME_INLINE std::optional<StalenessScheduler::Acquired> StalenessScheduler::acquire(std::size_t worker,
                                                                                       std::size_t first) {
  next_ = std::max(next_, first);
  if (ended()) return std::nullopt;
  if (!first_) first_ = next_;
  Open const open{worker, {next_, updates_, first_number_ + (next_ - *first_)}};
  ++next_;
  open_.push_back(open);
  return open.acquired;
}

TRIREME_INLINE void StalenessScheduler::release(std::size_t worker) {
  auto const found = find(worker);
  end_ = std::min(end_, found->acquired.batch);
  open_.erase(found);
}

TRIREME_INLINE bool StalenessScheduler::can_update(std::size_t worker) const {
  std::uint64_t number = updates_ + 1;
  for (auto open = open_.begin(); open->worker != worker; ++open, ++number)
    if (number - open->acquired.version > staleness_) return false;
  return true;
}

TRIREME_INLINE std::uint64_t StalenessScheduler::update(std::size_t worker) {
  open_.erase(find(worker));
  return updates_++;
}

TRIREME_INLINE std::vector<StalenessScheduler::Open>::iterator StalenessScheduler::find(std::size_t worker) {
  return std::find_if(open_.begin(), open_.end(), [&](Open const& open) { return open.worker == worker; });
}

}  // namespace trireme
