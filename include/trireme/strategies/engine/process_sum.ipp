/// Definitions of trireme/strategies/engine/process_sum.hpp.
#pragma once

#include "trireme/strategies/engine/process_sum.hpp"

#include <cstddef>
#include <span>
#include <vector>

#include "trireme/core/linkage.hpp"

namespace trireme {

TRIREME_INLINE void ProcessSum::sum_partitions(std::span<double const* const> partitions, std::size_t count,
                                               std::vector<double>& total) const {
  total.assign(count, 0.0);
  for (double const* const values : partitions)
    for (std::size_t i = 0; i < count; ++i) total[i] += values[i];
  allreduce_sum(std::span(total));
}

}  // namespace trireme
