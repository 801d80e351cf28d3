/// AdaptiveYield: yielding the core before sleep, for a process that waits for others many times a second.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <thread>

namespace trireme::detail {

/// Where several processes of a run share a core, a yield brings the others on faster than sleep, from which each has
/// to be woken; where another process keeps the core, it costs a time slice. After a yield that took long the next wait
/// yields not at all, after another one twice as many waits, up to `most_skipped_waits`.
class AdaptiveYield {
 public:
  static constexpr std::uint32_t turns = 16;
  static constexpr std::uint32_t most_skipped_waits = 16383;  ///< of a second or more

  /// Yields until `is_over()`, for a limited number of times. \return its last result; if false, the thread sleeps
  template <class Test>
  bool operator()(Test const& is_over) {
    return run(is_over, [] { std::this_thread::yield(); }, [] { return Clock::now(); });
  }

  /// The same with another yield and clock.
  template <class Test, class Yield, class Now>
  bool run(Test const& is_over, Yield const& yield, Now const& now) {
    if (skipped_waits_left_ != 0) {
      --skipped_waits_left_;
      return false;
    }
    for (std::uint32_t turn = 0; turn < turns; ++turn) {
      auto const begin = now();
      yield();
      bool const over = is_over();
      if (now() - begin > long_absence) {
        skipped_waits_ = std::min(2 * skipped_waits_ + 1, most_skipped_waits);
        skipped_waits_left_ = skipped_waits_;
        return over;
      }
      if (over) {
        skipped_waits_ /= 2;
        return true;
      }
    }
    return false;
  }

 private:
  using Clock = std::chrono::steady_clock;
  /// A few times as long as waking a process takes, and short beside a time slice of the scheduler.
  static constexpr std::chrono::nanoseconds long_absence{200'000};

  std::uint32_t skipped_waits_ = 0;  ///< after the next long absence, twice as many and one
  std::uint32_t skipped_waits_left_ = 0;
};

}  // namespace trireme::detail
