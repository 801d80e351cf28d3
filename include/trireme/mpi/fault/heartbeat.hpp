/// Heartbeat: immediate detection by a process that another one of its node is gone, for whatever reason.
#pragma once

#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <ctime>
#include <thread>

#include <pthread.h>

#include "trireme/mpi/fault/status_record.hpp"

namespace trireme::detail {

/// The thread that started MPI holds the lock of its record for as long as it lives. When it is gone, the system marks
/// the lock and wakes the waiting thread before it closes the process's files. Launchers react to the closed files:
/// they kill the others at once, so a message that waited for the same sign would come too late.
struct Heartbeat {
  enum class Sign { beats, ended, gone };

  static void begin(StatusRecord& own) {
    pthread_mutexattr_t kind;
    pthread_mutexattr_init(&kind);
    pthread_mutexattr_setpshared(&kind, PTHREAD_PROCESS_SHARED);
    pthread_mutexattr_setrobust(&kind, PTHREAD_MUTEX_ROBUST);
    pthread_mutex_init(&own.life, &kind);
    pthread_mutexattr_destroy(&kind);
    pthread_mutex_lock(&own.life);
  }
  static void end(StatusRecord& own) { pthread_mutex_unlock(&own.life); }

  /// True if the owner of the lock is gone. Does not wait; false where the system hides the mark.
  static bool is_marked([[maybe_unused]] StatusRecord& other) {
#if defined(__GLIBC__) && defined(__linux__)
    constexpr int owner_died = 0x40000000;  // FUTEX_OWNER_DIED
    return (std::atomic_ref<int>(other.life.__data.__lock).load(std::memory_order_relaxed) & owner_died) != 0;
#else
    return false;
#endif
  }

  /// Returns when `other` is gone or has ended, or after `time`, even if the system's clock is set meanwhile.
  static Sign wait(StatusRecord& other, std::chrono::milliseconds time) {
    int const status = lock_within(other.life, time);
    if (status == EOWNERDEAD) return Sign::gone;
    if (status != 0) return Sign::beats;
    pthread_mutex_unlock(&other.life);
    return Sign::ended;
  }

 private:
  /// As pthread_mutex_timedlock, but on a clock that cannot be set.
  static int lock_within(pthread_mutex_t& mutex, std::chrono::milliseconds time) {
#if defined(__GLIBC__) && (__GLIBC__ > 2 || __GLIBC_MINOR__ >= 30)
    std::int64_t const until = steady_clock_now() + std::chrono::nanoseconds(time).count();
    std::timespec const limit{static_cast<std::time_t>(until / 1'000'000'000),
                              static_cast<long>(until % 1'000'000'000)};
    return pthread_mutex_clocklock(&mutex, CLOCK_MONOTONIC, &limit);
#else
    auto const until = std::chrono::steady_clock::now() + time;
    for (;;) {
      int const status = pthread_mutex_trylock(&mutex);
      if (status != EBUSY || std::chrono::steady_clock::now() >= until) return status;
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
#endif
  }
};

}  // namespace trireme::detail
