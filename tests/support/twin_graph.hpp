/// DeviceGraph of TwinDevice, so that steps on the device in software can be recorded. Include it before a context of
/// the device is used.
#pragma once

#include <cstddef>

#include "support/device.hpp"

#if !defined(KOKKOS_ENABLE_CUDA) && !defined(KOKKOS_ENABLE_HIP)
#include "trireme/backend/execution/recorded_work.hpp"

template <>
struct trireme::DeviceGraph<trireme::test::TwinDevice> {
  using Graph = trireme::test::twin::Recording*;
  static char const* obstacle() { return nullptr; }
  static void begin(test::TwinDevice const& space) { test::twin::begin_recording(space.device()); }
  static Graph end(test::TwinDevice const&) {
    auto recording = test::twin::end_recording();
    test::twin::require_whole(*recording);
    return recording.release();
  }
  static void abandon(test::TwinDevice const&) { test::twin::end_recording(); }
  static void launch(test::TwinDevice const&, Graph graph) { test::twin::replay(*graph); }
  static void destroy(Graph graph) { delete graph; }
};
#endif

namespace trireme::test {

/// Number of recordings that were launched so far, as the device in software counts them.
inline std::size_t replays() {
#if !defined(KOKKOS_ENABLE_CUDA) && !defined(KOKKOS_ENABLE_HIP)
  return twin::state().calls.replays;
#else
  return 0;
#endif
}

}  // namespace trireme::test
