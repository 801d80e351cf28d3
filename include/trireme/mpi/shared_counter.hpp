/// SharedCounter: a number in memory that processes share; one process raises it, and others sleep until it has.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>

#if defined(__linux__) && defined(__LP64__)
#define TRIREME_SHARED_FUTEX
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <climits>
#include <ctime>
#else
#include <thread>
#endif

namespace trireme::detail {

/// As std::atomic with its wait and notify_all, which may serve the threads of one process only. A process that sleeps
/// leaves its core to the one that it waits for. Where the system cannot let processes sleep so, they yield.
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
    if (sleepers_.load() != 0) wake();
  }

  /// True if it has still to reach `value`, from less than half of what fits: comparisons survive an overflow.
  bool is_below(std::uint32_t value) const { return is_below(value_.load(std::memory_order_acquire), value); }

  /// Sleeps until it is raised, at most for `most` and not if it has reached `value`. May return earlier.
  void sleep_below(std::uint32_t value, std::chrono::nanoseconds most) {
    sleepers_.fetch_add(1);
    std::uint32_t const seen = value_.load();
    if (is_below(seen, value)) sleep(seen, most);
    sleepers_.fetch_sub(1);
  }

 private:
  using Value = std::atomic<std::uint32_t>;
  static_assert(Value::is_always_lock_free && sizeof(Value) == sizeof(std::uint32_t),
                "trireme: processes share counters, which may hold no lock");

  static bool is_below(std::uint32_t seen, std::uint32_t value) { return static_cast<std::int32_t>(seen - value) < 0; }

#ifdef TRIREME_SHARED_FUTEX
  void wake() { syscall(SYS_futex, &value_, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0); }
  void sleep(std::uint32_t seen, std::chrono::nanoseconds most) {
    std::timespec const time{static_cast<std::time_t>(most.count() / 1'000'000'000),
                             static_cast<long>(most.count() % 1'000'000'000)};
    syscall(SYS_futex, &value_, FUTEX_WAIT, seen, &time, nullptr, 0);
  }
#else
  void wake() {}
  void sleep(std::uint32_t, std::chrono::nanoseconds) { std::this_thread::yield(); }
#endif

  Value value_;
  Value sleepers_{0};
};

}  // namespace trireme::detail

#undef TRIREME_SHARED_FUTEX
