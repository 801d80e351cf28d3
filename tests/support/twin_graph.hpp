/// DeviceGraph of TwinDevice, so that steps on the device in software can be recorded. Include it before a context of
/// the device is used.
#pragma once

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
