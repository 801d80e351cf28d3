/// A barrier for tasks that run at once.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>

#include "trireme/backend/threads/signal.hpp"

namespace trireme {

/// Waits for all threads that take part.
class ThreadBarrier {
 public:
  /// \param patience  the time that a thread spins before it sleeps
  ThreadBarrier(std::size_t threads, std::chrono::nanoseconds patience)
      : patience_(patience), threads_(static_cast<std::uint32_t>(threads)) {}

  void operator()() {
    if (threads_ == 1) return;
    std::uint32_t const round = round_.load(std::memory_order_relaxed);
    if (arrived_.fetch_add(1, std::memory_order_acq_rel) + 1 == threads_) {
      arrived_.store(0, std::memory_order_relaxed);
      round_.set(round + 1);
      return;
    }
    round_.wait_while(round, patience_);
  }

 private:
  alignas(64) std::atomic<std::uint32_t> arrived_{0};
  alignas(64) detail::Signal round_;
  std::chrono::nanoseconds patience_;
  std::uint32_t threads_;
};

}  // namespace trireme
