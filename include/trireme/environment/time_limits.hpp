/// Time limits of a run.
#pragma once

#include <algorithm>
#include <chrono>
#include <string_view>

#include "trireme/core/error.hpp"
#include "trireme/core/text.hpp"

namespace trireme::detail {

/// Limit that stands for none. Sums of a few of these, in nanoseconds, do not overflow.
inline constexpr std::chrono::milliseconds no_limit = std::chrono::hours(24 * 365 * 50);

/// A limit that can be calculated with; a minute for one that `require_time_limit` rejects.
constexpr std::chrono::milliseconds bounded(std::chrono::milliseconds limit) {
  return limit.count() > 0 ? std::min(limit, no_limit) : std::chrono::minutes(1);
}

/// \throws ValueError
inline void require_time_limit(std::string_view name, std::chrono::milliseconds limit) {
  if (limit.count() <= 0) throw ValueError(formatted("{} is {} ms, and has to be above 0", name, limit.count()));
}

}  // namespace trireme::detail
