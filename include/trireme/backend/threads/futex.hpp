/// Sleep until another thread, of this process or of another one, wakes those that wait for a number in memory.
///
/// As wait and notify_all of std::atomic, which serve the threads of one process, and which yield the core a few times
/// first in libstdc++: a thread so gives its turn to a busy process, and waits for it although it was woken. Where the
/// system has no futex, threads wait as std::atomic does, and processes yield.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>

#if defined(__linux__) && defined(__LP64__)
#define TRIREME_FUTEX
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <climits>
#include <ctime>
#else
#include <thread>
#endif

namespace trireme::detail {

using FutexValue = std::atomic<std::uint32_t>;
static_assert(FutexValue::is_always_lock_free && sizeof(FutexValue) == sizeof(std::uint32_t),
              "trireme: processes share counters, which may hold no lock");

/// Threads that may wait for a number.
enum class FutexScope { process, machine };

/// Sleeps while `value` is `seen`, until a wake or for at most `most`. May return earlier.
inline void futex_sleep([[maybe_unused]] FutexScope scope, FutexValue const& value, std::uint32_t seen,
                        [[maybe_unused]] std::chrono::nanoseconds most = std::chrono::nanoseconds::max()) {
#ifdef TRIREME_FUTEX
  std::timespec const time{static_cast<std::time_t>(most.count() / 1'000'000'000),
                           static_cast<long>(most.count() % 1'000'000'000)};
  int const operation = scope == FutexScope::process ? FUTEX_WAIT_PRIVATE : FUTEX_WAIT;
  syscall(SYS_futex, &value, operation, seen, most == std::chrono::nanoseconds::max() ? nullptr : &time, nullptr, 0);
#else
  if (scope == FutexScope::process)
    value.wait(seen);
  else if (value.load() == seen)
    std::this_thread::yield();
#endif
}

/// Wakes all threads that sleep on `value`.
inline void futex_wake([[maybe_unused]] FutexScope scope, [[maybe_unused]] FutexValue& value) {
#ifdef TRIREME_FUTEX
  int const operation = scope == FutexScope::process ? FUTEX_WAKE_PRIVATE : FUTEX_WAKE;
  syscall(SYS_futex, &value, operation, INT_MAX, nullptr, nullptr, 0);
#else
  if (scope == FutexScope::process) value.notify_all();
#endif
}

}  // namespace trireme::detail

#undef TRIREME_FUTEX
