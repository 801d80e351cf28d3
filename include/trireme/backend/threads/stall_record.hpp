/// StallRecord: whether sharing work among threads pays while other processes take their cores.
#pragma once

#include <algorithm>
#include <chrono>

namespace trireme::detail {

/// Stalls of a thread that waits for tasks of others whose cores went to another process in the middle of them: for a
/// time slice of the scheduler, which is as long as dozens of small steps. After one the thread works alone for a
/// while, for twice as long if the next stall comes at once.
class StallRecord {
 public:
  using Time = std::chrono::steady_clock::time_point;

  /// True if it should work alone now.
  bool avoids_threads(Time now) const { return now < alone_until_; }

  /// A round of shared work: its begin, the end of the thread's own tasks, and that of all tasks.
  void add(Time begin, Time own_end, Time end) {
    // A wait as long as the thread's own part may be an uneven division of long tasks.
    if (end - own_end < std::max<std::chrono::nanoseconds>(shortest_stall, own_end - begin)) return;
    alone_for_ = begin - alone_until_ < alone_for_ ? std::min(2 * alone_for_, longest_alone) : shortest_alone;
    alone_until_ = end + alone_for_;
  }

 private:
  using Duration = std::chrono::steady_clock::duration;
  static constexpr Duration shortest_stall = std::chrono::milliseconds(1),
                            shortest_alone = std::chrono::milliseconds(20),
                            longest_alone = std::chrono::milliseconds(320);

  Time alone_until_{};
  Duration alone_for_ = shortest_alone;
};

}  // namespace trireme::detail
