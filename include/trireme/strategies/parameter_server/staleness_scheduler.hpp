/// StalenessScheduler: assigns the batches of an epoch to workers and orders their updates within the bound. The
/// first parameter server keeps one; it sends no message itself.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

namespace trireme {

/// Batches are acquired one after the other; an update is numbered when its worker has computed the gradient.
///
/// What is bounded: of the updates that come before that of a batch, at most `staleness` are not yet in the weights
/// that its gradient is taken at. So at most `staleness` + 1 batches are worked on at once, and while a worker
/// computes, the others make at most `staleness` updates together and then wait for it. Whoever has waited longest can
/// always go on: the update of the oldest batch is never put off, so that nothing waits for ever while the workers
/// compute.
class StalenessScheduler {
 public:
  struct Acquired {
    std::size_t batch = 0;      ///< of the epoch
    std::uint64_t version = 0;  ///< updates that the weights must have seen
    std::uint64_t number = 0;   ///< of the step that it would be if batches were trained on one after the other
  };

  explicit StalenessScheduler(std::size_t staleness) : staleness_(staleness) {}

  /// A new epoch, after so many updates and every one of the epoch before.
  void start_epoch(std::uint64_t updates) {
    updates_ = first_number_ = updates;
    first_.reset();
    next_ = 0;
    end_ = std::numeric_limits<std::size_t>::max();
  }

  /// Whether a batch may be acquired now, or the answer is known to be that there is none.
  bool can_acquire() const { return ended() || open_.size() <= staleness_; }
  /// The next batch, `first` or later, for a worker that has none; nothing if the epoch has ended.
  std::optional<Acquired> acquire(std::size_t worker, std::size_t first) {
    next_ = std::max(next_, first);
    if (ended()) return std::nullopt;
    if (!first_) first_ = next_;
    Open const open{worker, {next_, updates_, first_number_ + (next_ - *first_)}};
    ++next_;
    open_.push_back(open);
    return open.acquired;
  }
  /// The batch that the worker has acquired does not exist: the epoch ends before it.
  void release(std::size_t worker) {
    auto const found = find(worker);
    end_ = std::min(end_, found->acquired.batch);
    open_.erase(found);
  }
  /// No more batches in this epoch.
  void close() { end_ = 0; }

  /// Whether the update of the worker's batch can be the next one, and the batches acquired before it can still have
  /// theirs in time.
  bool can_update(std::size_t worker) const {
    std::uint64_t number = updates_ + 1;
    for (auto open = open_.begin(); open->worker != worker; ++open, ++number)
      if (number - open->acquired.version > staleness_) return false;
    return true;
  }
  /// The number of the update, which ends its turn.
  std::uint64_t update(std::size_t worker) {
    open_.erase(find(worker));
    return updates_++;
  }

  /// Batches that somebody works on.
  std::size_t open() const { return open_.size(); }
  std::uint64_t updates() const { return updates_; }

 private:
  struct Open {
    std::size_t worker;
    Acquired acquired;
  };

  bool ended() const { return next_ >= end_; }
  std::vector<Open>::iterator find(std::size_t worker) {
    return std::find_if(open_.begin(), open_.end(), [&](Open const& open) { return open.worker == worker; });
  }

  std::size_t staleness_;
  std::size_t next_ = 0, end_ = std::numeric_limits<std::size_t>::max();
  std::vector<Open> open_;  // in the order in which they were acquired, and so of their versions
  std::uint64_t updates_ = 0, first_number_ = 0;
  std::optional<std::size_t> first_;
};

}  // namespace trireme
