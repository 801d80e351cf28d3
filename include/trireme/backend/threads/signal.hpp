/// Signal: a number that threads wait for, many times a second; they spin, then sleep.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>

#include "trireme/backend/threads/futex.hpp"

namespace trireme::detail {

/// Tells the processor that this thread spins.
inline void spin_pause() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

/// A number that threads wait for. A thread that sleeps leaves its core to the one that it waits for; changes call the
/// system only if one sleeps.
class Signal {
 public:
  Signal() = default;
  Signal(Signal const&) = delete;
  Signal& operator=(Signal const&) = delete;

  std::uint32_t load(std::memory_order order = std::memory_order_acquire) const { return value_.load(order); }
  /// Sets it while no thread waits.
  void reset(std::uint32_t value) { value_.store(value, std::memory_order_relaxed); }
  /// Sets it, which publishes what this thread has written, and wakes those that sleep.
  void set(std::uint32_t value) {
    value_.store(value);
    wake();
  }
  /// As set, to the next number; several threads may call it at once.
  void raise() {
    value_.fetch_add(1);
    wake();
  }
  /// Takes one away; wakes those that sleep if that was the last.
  void count_down() {
    if (value_.fetch_sub(1) == 1) wake();
  }

  /// Waits until the number is no longer `old`: spins for `patience`, then sleeps.
  void wait_while(std::uint32_t old, std::chrono::nanoseconds patience) const {
    using Clock = std::chrono::steady_clock;
    constexpr std::size_t turns_between_looks_at_the_clock = 64;
    if (load() != old) return;
    if (patience.count() > 0)
      for (auto const begin = Clock::now(); Clock::now() - begin < patience;)
        for (std::size_t turn = 0; turn < turns_between_looks_at_the_clock; ++turn) {
          if (load() != old) return;
          spin_pause();
        }
    sleepers_.fetch_add(1);
    while (value_.load() == old) futex_sleep(FutexScope::process, value_, old);
    sleepers_.fetch_sub(1);
  }

 private:
  // In the one order of all sequentially consistent operations either this load follows a sleeper's addition, or the
  // sleeper's load follows the change.
  void wake() {
    if (sleepers_.load() != 0) futex_wake(FutexScope::process, value_);
  }

  FutexValue value_{0};
  mutable FutexValue sleepers_{0};
};

}  // namespace trireme::detail
