/// Backoff: how often a thread tries what pays only while other processes leave it its core.
#pragma once

#include <algorithm>
#include <cstdint>

namespace trireme::detail {

/// After a failure it does not try once, after the next one twice as often and once more, up to `most` times; each
/// success halves that. So it follows what other processes do on the cores, without a look at a clock.
class Backoff {
 public:
  static constexpr std::uint32_t usual_most = 511;

  constexpr explicit Backoff(std::uint32_t most = usual_most) : most_(most) {}

  /// True if the thread is to try now. After each call that returns true, `add` follows.
  bool tries() {
    if (left_ == 0) return true;
    --left_;
    return false;
  }

  /// Records how a try ended.
  void add(bool success) {
    omitted_ = success ? omitted_ / 2 : std::min(2 * omitted_ + 1, most_);
    if (!success) left_ = omitted_;
  }

 private:
  std::uint32_t most_;
  std::uint32_t omitted_ = 0;  ///< tries after the last failure
  std::uint32_t left_ = 0;     ///< those of them that are to come
};

}  // namespace trireme::detail
