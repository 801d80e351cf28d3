/// SharedCounter: a number in memory that processes share; one process raises it, and others sleep until it has.
#pragma once

#include <chrono>
#include <cstdint>

#include "trireme/backend/threads/futex.hpp"

namespace trireme::detail {

/// As std::atomic with its wait and notify_all, which may serve the threads of one process only. A process that sleeps
/// leaves its core to the one that it waits for.
class SharedCounter {
 public:
  explicit SharedCounter(std::uint32_t value = 0) : value_(value) {}
  SharedCounter(SharedCounter const&) = delete;
  SharedCounter& operator=(SharedCounter const&) = delete;

  /// Adds one, which publishes what this process has written, and wakes those that sleep. Calls the system only if
  /// there are any. For one process.
  void raise() {
    value_.store(value_.load(std::memory_order_relaxed) + 1);
    // In the one order of all sequentially consistent operations either this load follows a sleeper's addition, or the
    // sleeper's load follows the store.
    if (sleepers_.load() != 0) futex_wake(FutexScope::machine, value_);
  }

  /// True if it has still to reach `value`, from less than half of what fits: comparisons survive an overflow.
  bool is_below(std::uint32_t value) const { return is_below(value_.load(std::memory_order_acquire), value); }

  /// Sleeps until it is raised, at most for `most` and not if it has reached `value`. May return earlier.
  void sleep_below(std::uint32_t value, std::chrono::nanoseconds most) {
    sleepers_.fetch_add(1);
    std::uint32_t const seen = value_.load();
    if (is_below(seen, value)) futex_sleep(FutexScope::machine, value_, seen, most);
    sleepers_.fetch_sub(1);
  }

 private:
  static bool is_below(std::uint32_t seen, std::uint32_t value) { return static_cast<std::int32_t>(seen - value) < 0; }

  FutexValue value_;
  FutexValue sleepers_{0};
};

}  // namespace trireme::detail
