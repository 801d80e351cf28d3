/// AdaptiveSpin: spinning before sleep, for a thread that waits for others many times a second.
#pragma once

#include <chrono>
#include <cstdint>

#include "trireme/backend/threads/backoff.hpp"
#include "trireme/backend/threads/signal.hpp"

namespace trireme::detail {

/// Spinning is faster than sleep while the others run, and wastes a core that they may need while they do not, or where
/// there are fewer cores than threads. After spins in vain the next waits spin briefly (Backoff).
class AdaptiveSpin {
 public:
  static constexpr std::uint32_t turns = 16;  ///< of a brief spin, which takes as long as a system call

  /// Spins until `is_over()`, for a limited time. \return its last result; if false, the thread sleeps
  template <class Test>
  bool operator()(Test const& is_over) {
    if (!backoff_.tries()) return spin(is_over);
    bool over = spin(is_over);
    if (!over)
      for (auto const begin = Clock::now(); !over && Clock::now() - begin < patience;) over = spin(is_over);
    backoff_.add(over);
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

  Backoff backoff_;
};

}  // namespace trireme::detail
