/// Waiting of a thread that synchronizes with others many times a second: it spins, then sleeps.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>

namespace trireme::detail {

/// Tells the processor that this thread spins.
inline void spin_pause() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

/// Waits until `value` is no longer `old`: spins for `patience`, then sleeps until notify_one() or notify_all()
/// wakes it. A thread that sleeps leaves its core to the one that it waits for.
inline void wait_while_equal(std::atomic<std::uint32_t> const& value, std::uint32_t old,
                             std::chrono::nanoseconds patience) {
  using Clock = std::chrono::steady_clock;
  constexpr std::size_t turns_between_looks_at_the_clock = 64;
  auto const is_over = [&] { return value.load(std::memory_order_acquire) != old; };
  if (is_over()) return;
  for (auto const begin = Clock::now(); Clock::now() - begin < patience;)
    for (std::size_t turn = 0; turn < turns_between_looks_at_the_clock; ++turn) {
      if (is_over()) return;
      spin_pause();
    }
  while (!is_over()) value.wait(old, std::memory_order_acquire);
}

}  // namespace trireme::detail
