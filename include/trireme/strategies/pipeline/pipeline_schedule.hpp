/// The order in which a stage of a pipeline takes its micro-batches: one forward, one backward.
#pragma once

#include <algorithm>
#include <cstddef>

namespace trireme {

/// Stage s of S runs min(M, S - 1 - s) micro-batches of M ahead, then one forward and one backward in turn, then the
/// remaining backwards. So at most min(M, S - s) micro-batches are between forward and backward, for any M. A stage
/// waits for (S - 1) of M + S - 1 slots of time, if all stages take equally long: with M = 4 S about a fifth. Source:
/// Narayanan et al., PipeDream, 2019.
struct PipelineSchedule {
  std::size_t stage, stages, micro_batches;

  /// Micro-batches whose forward runs before forward and backward take turns.
  constexpr std::size_t ahead() const { return std::min(micro_batches, stages - 1 - stage); }
  /// Micro-batches that are between forward and backward at once.
  constexpr std::size_t in_flight() const { return std::min(micro_batches, stages - stage); }

  /// Calls forward(m) and backward(m) of all micro-batches in the order of the schedule.
  template <class Forward, class Backward>
  constexpr void run(Forward const& forward, Backward const& backward) const {
    std::size_t next = 0;
    for (; next < ahead(); ++next) forward(next);
    for (std::size_t done = 0; done < micro_batches; ++done) {
      if (next < micro_batches) forward(next++);
      backward(done);
    }
  }
};

}  // namespace trireme
