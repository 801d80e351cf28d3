/// AdaptiveSpin: spinning before sleep, for a thread that waits for others many times a second.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>

#include "trireme/backend/threads/waiting_thread.hpp"

namespace trireme::detail {

/// Spinning is faster than sleep while the others run, and wastes a core that they may need while they do not. After a
/// spin in vain the next wait spins briefly, after another one twice as many waits do so, up to `most_brief_waits`:
/// thus it follows what other processes do on the cores, and whether there are as many cores as threads.
class AdaptiveSpin {
 public:
  static constexpr std::uint32_t turns = 16;  ///< of a brief spin, which takes as long as a system call
  static constexpr std::uint32_t most_brief_waits = 511;

  /// Spins until `is_over()`, for a limited time. \return its last result; if false, the thread sleeps
  template <class Test>
  bool operator()(Test const& is_over) {
    if (brief_waits_left_ != 0) {
      --brief_waits_left_;
      return spin(is_over);
    }
    bool over = spin(is_over);
    if (!over)
      for (auto const begin = Clock::now(); !over && Clock::now() - begin < patience;) over = spin(is_over);
    brief_waits_ = over ? brief_waits_ / 2 : std::min(2 * brief_waits_ + 1, most_brief_waits);
    if (!over) brief_waits_left_ = brief_waits_;
    return over;
  }

 private:
  using Clock = std::chrono::steady_clock;
  /// Longer than the threads' steps differ and than waking one takes, and short beside a time slice of the scheduler.
  static constexpr std::chrono::nanoseconds patience{50'000};

  template <class Test>
  static bool spin(Test const& is_over) {
    for (std::uint32_t turn = 0; turn < turns; ++turn) {
      if (is_over()) return true;
      spin_pause();
    }
    return false;
  }

  std::uint32_t brief_waits_ = 0;  ///< after the next spin in vain, twice as many and one
  std::uint32_t brief_waits_left_ = 0;
};

}  // namespace trireme::detail
