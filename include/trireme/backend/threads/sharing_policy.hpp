/// SharingPolicy: how many threads of a pool take tasks while other processes use their cores.
#pragma once

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>

namespace trireme::detail {

/// Threads that take the tasks of a round.
enum class Sharing {
  full,     ///< all, each whenever it is free
  limited,  ///< the caller, and the others for less than half of the time, on other processors than the caller's
  alone     ///< the caller
};

/// A round of tasks.
struct Round {
  using Time = std::chrono::steady_clock::time_point;
  using Duration = std::chrono::nanoseconds;

  Time begin{}, own_end{}, end{};  ///< own_end: of the caller's own tasks
  Duration lost{};                 ///< time in which threads had begun tasks and had no core, if asked for
  void (*function)(void const*, std::size_t) = nullptr;
};

/// A thread whose core another process wants computes for a time slice of the scheduler, and then loses the core for as
/// long, mostly within a task that the others wait for. When a wait looks like that, the times that tasks lose are
/// measured; if they do, each way of sharing is tried for some slices, and the fastest is kept for a while: the one
/// that ends most rounds per second.
class SharingPolicy {
 public:
  using Time = Round::Time;
  using Duration = Round::Duration;

  /// Sharing of the next round.
  Sharing sharing() const { return sharing_; }
  /// True if each round is to be added; otherwise those in which the caller waited.
  bool follows() const { return phase_ != Phase::quiet; }
  /// True if `add` needs the time that the next round loses. The clock of the processor's time is a call of the system,
  /// where a thread may lose its core: trials do without.
  bool measures_losses() const { return phase_ == Phase::check; }

  /// Records a round.
  void add(Round const& round) {
    if (follows() && round.begin - last_ > longest_pause) *this = {};
    last_ = round.end;
    if (phase_ == Phase::quiet) {
      if (round.end - round.own_end >= shortest_stall && round.begin >= quiet_until_)
        start(Phase::check, Sharing::full);
      return;
    }
    if (rounds_++ == 0) function_ = round.function;
    // Rounds of a training step follow each other: the first one of the phase begins another step.
    else if (wall_ >= length_of(phase_) && (round.function == function_ || wall_ >= 2 * length_of(phase_)))
      return finish();
    wall_ += round.end - round.begin;
    lost_ += round.lost;
  }

 private:
  enum class Phase { quiet, check, trial, kept };
  static constexpr std::array trials{Sharing::full, Sharing::limited, Sharing::alone};
  static constexpr Duration shortest_stall = std::chrono::microseconds(200),  ///< a few times as long as threads spin
      longest_pause = std::chrono::milliseconds(500), quiet_after_vain_check = std::chrono::milliseconds(400);

  static constexpr Duration length_of(Phase phase) {
    using std::chrono::milliseconds;
    return phase == Phase::check ? milliseconds(20) : phase == Phase::trial ? milliseconds(50) : milliseconds(700);
  }

  void start(Phase phase, Sharing sharing) {
    phase_ = phase;
    sharing_ = sharing;
    rounds_ = 0;
    wall_ = lost_ = {};
  }

  void finish() {
    if (phase_ == Phase::check) {
      if (lost_ * 20 >= wall_) return start(Phase::trial, trials[trial_ = 0]);
      Time const now = last_;
      *this = {};  // a wait for a longer task, or the other processes are gone
      quiet_until_ = now + quiet_after_vain_check;
    } else if (phase_ == Phase::trial) {
      rates_[trial_] = static_cast<double>(rounds_ - 1) / static_cast<double>(wall_.count());
      if (++trial_ < trials.size()) return start(Phase::trial, trials[trial_]);
      start(Phase::kept, trials[static_cast<std::size_t>(std::ranges::max_element(rates_) - rates_.begin())]);
    } else {
      start(Phase::check, Sharing::full);
    }
  }

  Phase phase_ = Phase::quiet;
  Sharing sharing_ = Sharing::full;
  std::size_t trial_ = 0, rounds_ = 0;
  void (*function_)(void const*, std::size_t) = nullptr;
  std::array<double, trials.size()> rates_{};
  Duration wall_{}, lost_{};
  Time last_{}, quiet_until_{};
};

}  // namespace trireme::detail
