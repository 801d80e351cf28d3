/// A barrier for tasks that run at once.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>

#include "trireme/backend/threads/signal.hpp"

namespace trireme {

namespace detail {

/// Thrown at a barrier that has ended, since one of its threads failed. No std::exception: that thread's error is the
/// one to report.
struct BarrierEnded {};

}  // namespace detail

/// Barrier at which threads wait until all that take part have arrived, or one of them has ended it.
class ThreadBarrier {
 public:
  /// \param patience  the time that a thread spins before it sleeps
  ThreadBarrier(std::size_t threads, std::chrono::nanoseconds patience)
      : patience_(patience), threads_(static_cast<std::uint32_t>(threads)) {}

  /// Number of threads that take part.
  std::size_t threads() const { return threads_; }
  /// The time that a thread spins before it sleeps.
  std::chrono::nanoseconds patience() const { return patience_; }

  /// Waits until all threads have arrived. \throws detail::BarrierEnded
  void operator()() {
    if (threads_ == 1) return;
    // The round comes first: an end that this thread does not see yet then changes the number that it waits for.
    std::uint32_t const round = round_.load();
    check_not_ended();
    if (arrived_.fetch_add(1, std::memory_order_acq_rel) + 1 == threads_) {
      arrived_.store(0, std::memory_order_relaxed);
      round_.set(round + 1);
    } else {
      round_.wait_while(round, patience_);
    }
    check_not_ended();
  }

  /// Ends the barrier: threads that wait at it, or arrive, throw detail::BarrierEnded. A thread that fails, and so will
  /// not arrive, calls it.
  void end() {
    ended_.store(true);
    round_.raise();
  }
  /// Makes it as new. No thread waits at it, or arrives meanwhile.
  void restart() {
    arrived_.store(0);
    ended_.store(false);
  }

 private:
  void check_not_ended() const {
    if (ended_.load(std::memory_order_acquire)) throw detail::BarrierEnded();
  }

  alignas(64) std::atomic<std::uint32_t> arrived_{0};
  alignas(64) detail::Signal round_;
  std::atomic<bool> ended_{false};  ///< in the cache line of the round, which threads read anyway
  std::chrono::nanoseconds patience_;
  std::uint32_t threads_;
};

}  // namespace trireme
