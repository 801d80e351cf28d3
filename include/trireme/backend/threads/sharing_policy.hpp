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
  limited,  ///< all, but those that lose their core for less than half of the time, off the caller's processor
  alone     ///< the caller
};

/// A round of tasks.
struct Round {
  using Time = std::chrono::steady_clock::time_point;
  using Duration = std::chrono::nanoseconds;

  Time begin{}, own_end{}, end{};  ///< own_end: of the caller's own tasks
  Duration lost{};                 ///< time in which threads had begun tasks and had no core, if asked for
  void (*kind)() = nullptr;        ///< rounds of the same work have the same
};

/// A thread whose core another process wants computes for a time slice of the scheduler, and then loses the core for as
/// long, mostly within a task that the others wait for. When a wait looks like that, the times that tasks lose are
/// measured; if they do, each way of sharing is tried for some slices, and the fastest is kept for a while: the one
/// that ends most rounds per second.
class SharingPolicy {
 public:
  using Time = Round::Time;
  using Duration = Round::Duration;

  /// \param threads  that share tasks
  explicit SharingPolicy(std::size_t threads) : threads_(threads) {}

  /// Sharing of the next round.
  Sharing sharing() const { return sharing_; }
  /// True if each round is to be added; otherwise those in which the caller waited.
  bool follows() const { return phase_ != Phase::quiet; }
  /// True if `add` needs the time that the next round loses. The clock of the processor's time is a call of the system,
  /// where a thread may lose its core: trials do without.
  bool measures_losses() const { return phase_ == Phase::check; }

  /// Records a round.
  void add(Round const& round) {
    if (follows() && round.begin - last_ > longest_pause) *this = SharingPolicy(threads_);
    last_ = round.end;
    if (phase_ == Phase::quiet) {
      if (round.end - round.own_end >= shortest_stall && round.begin >= quiet_until_)
        start(Phase::check, Sharing::full);
      return;
    }
    if (phase_ == Phase::kept) {
      if (round.end >= kept_until_) start(Phase::check, Sharing::full);
      return;
    }
    if (rounds_++ == 0) kind_ = round.kind;
    // Rounds of a training step follow each other: the first one of the phase begins another step.
    else if (wall_ >= length_of(phase_) && (round.kind == kind_ || wall_ >= 2 * length_of(phase_)))
      return finish();
    wall_ += round.end - round.begin;
    lost_ += round.lost;
  }

 private:
  enum class Phase { quiet, check, trial, kept };
  static constexpr std::array trials{Sharing::full, Sharing::limited, Sharing::alone};
  static constexpr Duration shortest_stall = std::chrono::microseconds(200),  ///< a few times as long as threads spin
      shortest_kept = std::chrono::milliseconds(700), longest_pause = std::chrono::milliseconds(500),
                            quiet_after_vain_check = std::chrono::milliseconds(400);

  static constexpr Duration length_of(Phase phase) {
    using std::chrono::milliseconds;
    return phase == Phase::check ? milliseconds(20) : milliseconds(50);
  }

  void start(Phase phase, Sharing sharing) {
    phase_ = phase;
    sharing_ = sharing;
    rounds_ = 0;
    wall_ = lost_ = {};
  }

  void finish() {
    if (phase_ == Phase::check) {
      if (lost_ * 20 >= wall_) {
        rates_ = {};
        tried_since_ = last_;
        return start(Phase::trial, trials[trial_ = 0]);
      }
      Time const now = last_;
      *this = SharingPolicy(threads_);  // a wait for a longer task, or the other processes are gone
      quiet_until_ = now + quiet_after_vain_check;
      return;
    }
    auto const rounds = static_cast<double>(rounds_ - 1);
    rates_[trial_] = rounds / static_cast<double>(wall_.count());
    // A long round of many threads would take one thread very long.
    bool const tries_alone = trial_ == 1 && wall_ * threads_ <= (rounds_ - 1) * length_of(Phase::trial);
    if (trial_ == 0 || tries_alone) return start(Phase::trial, trials[++trial_]);
    keep(trials[static_cast<std::size_t>(std::ranges::max_element(rates_) - rates_.begin())]);
  }

  /// The longer trials take, and the more often they change nothing, the more seldom they are.
  void keep(Sharing fastest) {
    vain_trials_ = fastest == Sharing::full ? std::min(vain_trials_ + 1, 4) : 0;
    kept_until_ = last_ + std::max<Duration>(shortest_kept, 4 * (last_ - tried_since_)) * (1 << vain_trials_);
    start(Phase::kept, fastest);
  }

  Phase phase_ = Phase::quiet;
  Sharing sharing_ = Sharing::full;
  std::size_t threads_, trial_ = 0, rounds_ = 0;
  int vain_trials_ = 0;  ///< one after the other
  void (*kind_)() = nullptr;
  std::array<double, trials.size()> rates_{};
  Duration wall_{}, lost_{};
  Time last_{}, quiet_until_{}, tried_since_{}, kept_until_{};
};

}  // namespace trireme::detail
