/// LaunchTurn: a guard for the launch of a kernel on a device, which one thread at a time makes.
#pragma once

#include <mutex>

namespace trireme::detail {

/// Kokkos keeps the attributes of each kernel in a map that it does not guard, so that two threads that launch a kernel
/// for the first time would both write to it. Waiting for a device takes no turn.
class [[nodiscard]] LaunchTurn {
 public:
  LaunchTurn() : turn_(mutex()) {}

 private:
  static std::mutex& mutex() {
    static std::mutex one;
    return one;
  }
  std::scoped_lock<std::mutex> turn_;
};

}  // namespace trireme::detail
