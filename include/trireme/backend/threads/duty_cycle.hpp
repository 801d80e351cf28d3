/// DutyCycle: work and rest of a thread that shares its core with a busy process.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <optional>
#include <utility>

namespace trireme::detail {

/// Turns of work and rest of a thread that shares its core with a busy process. The scheduler gives it half of the core
/// in time slices of some milliseconds; a thread that takes less, in shorter turns, is seldom stopped within a task and
/// runs at once when it is woken.
class DutyCycle {
 public:
  using Time = std::chrono::steady_clock::time_point;
  using Duration = std::chrono::nanoseconds;

  /// False while the thread rests. Other threads may ask.
  bool works(Time now) const { return now.time_since_epoch().count() >= rests_until_.load(std::memory_order_relaxed); }

  /// The same, asked by the thread itself before each task: a turn of work ends here.
  /// \param processor_time  returns the time of a processor that the thread has used
  template <class ProcessorTime>
  bool continues(Time now, ProcessorTime const& processor_time) {
    if (!works(now)) return false;
    if (begin_ && now - *begin_ >= turn) {
      Duration const used = processor_time() - processor_;
      if (used < turn) return true;
      Time const begin = std::exchange(begin_, std::nullopt).value();
      Duration const from = std::max<Duration>(Duration(rests_until_.load(std::memory_order_relaxed)),
                                               (begin - most_saved).time_since_epoch());
      rests_until_.store((from + used * 100 / percent).count(), std::memory_order_relaxed);
      if (!works(now)) return false;
    }
    if (!begin_) begin_ = now, processor_ = processor_time();
    return true;
  }

 private:
  static constexpr Duration turn = std::chrono::microseconds(300);         ///< long beside waking a thread
  static constexpr Duration most_saved = std::chrono::microseconds(1000);  ///< rest that counts later
  static constexpr int percent = 40;                                       ///< of a core's time

  std::atomic<Time::rep> rests_until_{0};
  std::optional<Time> begin_;
  Duration processor_{};
};

}  // namespace trireme::detail
