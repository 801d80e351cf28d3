/// AdaptiveYield: yielding the core before sleep, for a process that waits for others many times a second.
#pragma once

#include <chrono>
#include <cstdint>
#include <thread>

#include "trireme/backend/threads/backoff.hpp"

namespace trireme::detail {

/// A yield brings the other processes of a run that share the core on faster than sleep, from which each has to be
/// woken; beside another process that keeps the core, it costs a time slice. After yields that took long the next waits
/// do not yield (Backoff).
class AdaptiveYield {
 public:
  static constexpr std::uint32_t turns = 16;
  static constexpr std::uint32_t most_skipped_waits = 16383;  ///< they take a second or more

  /// Yields until `is_over()`, for a limited number of times. \return its last result; if false, the thread sleeps
  template <class Test>
  bool operator()(Test const& is_over) {
    return run(is_over, [] { std::this_thread::yield(); }, [] { return Clock::now(); });
  }

  /// The same with another yield and clock.
  template <class Test, class Yield, class Now>
  bool run(Test const& is_over, Yield const& yield, Now const& now) {
    if (!backoff_.tries()) return false;
    bool over = false, long_away = false;
    for (std::uint32_t turn = 0; turn < turns && !over && !long_away; ++turn) {
      auto const begin = now();
      yield();
      over = is_over();
      long_away = now() - begin > long_absence;
    }
    backoff_.add(!long_away);
    return over;
  }

 private:
  using Clock = std::chrono::steady_clock;
  /// A few times as long as waking a process takes, and short beside a time slice of the scheduler.
  static constexpr std::chrono::nanoseconds long_absence{200'000};

  Backoff backoff_{most_skipped_waits};
};

}  // namespace trireme::detail
