/// StalenessScheduler: assigns the batches of an epoch to workers and orders their updates within the bound. The
/// first parameter server keeps one; it sends no message itself.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

namespace trireme {

/// Batches are acquired one after the other; an update is numbered when its worker has computed the gradient.
///
/// The bound: of the updates that come before that of a batch, at most `staleness` are missing from the weights at
/// which its gradient is taken. So at most `staleness` + 1 batches are worked on at once, and while a worker computes,
/// the others make at most `staleness` updates together and then wait for it. The worker that has waited longest can
/// always continue: the update of the oldest batch is never postponed, so that no worker waits forever while others
/// compute.
class StalenessScheduler {
 public:
  struct Acquired {
    std::size_t batch = 0;      ///< of the epoch
    std::uint64_t version = 0;  ///< updates that the weights must have seen
    std::uint64_t number = 0;   ///< of the step that it would be if batches were trained on one after the other
  };

  /// Scheduler under this bound, before its first epoch.
  explicit StalenessScheduler(std::size_t staleness) : staleness_(staleness) {}

  /// Starts an epoch after so many updates, which include all of the previous epoch.
  void start_epoch(std::uint64_t updates);

  /// True if a batch may be acquired now, or if it is known that there is none.
  bool can_acquire() const { return ended() || open_.size() <= staleness_; }
  /// The next batch, `first` or later, for a worker that has none; nothing if the epoch has ended.
  std::optional<Acquired> acquire(std::size_t worker, std::size_t first);
  /// Ends the epoch before the batch that the worker has acquired, which does not exist.
  void release(std::size_t worker);
  /// Ends the batches of this epoch.
  void close() { end_ = 0; }

  /// True if the update of the worker's batch can be the next one, and the batches acquired before it can still have
  /// theirs in time.
  bool can_update(std::size_t worker) const;
  /// Returns the number of the update, and ends the worker's turn.
  std::uint64_t update(std::size_t worker);

  /// Batches that workers have acquired and not yet updated.
  std::size_t open() const { return open_.size(); }
  /// Number of updates so far.
  std::uint64_t updates() const { return updates_; }

 private:
  struct Open {
    std::size_t worker;
    Acquired acquired;
  };

  bool ended() const { return next_ >= end_; }
  std::vector<Open>::iterator find(std::size_t worker);

  std::size_t staleness_;
  std::size_t next_ = 0, end_ = std::numeric_limits<std::size_t>::max();
  std::vector<Open> open_;  // in the order in which they were acquired, and so of their versions
  std::uint64_t updates_ = 0, first_number_ = 0;
  std::optional<std::size_t> first_;
};

}  // namespace trireme

#ifndef TRIREME_COMPILED
#include "trireme/strategies/parameter_server/staleness_scheduler.ipp"
#endif
