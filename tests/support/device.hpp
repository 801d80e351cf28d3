/// Device: the space of device tests. The GPU that Kokkos was built for, elsewhere the device in software.
#pragma once

#include <cstddef>
#include <vector>

#include <Kokkos_Core.hpp>

#if !defined(KOKKOS_ENABLE_CUDA) && !defined(KOKKOS_ENABLE_HIP)
#include "support/twin_copies.hpp"
#include "support/twin_device.hpp"
#include "trireme/backend/execution/device_instances.hpp"
#endif

namespace trireme::test {

#if defined(KOKKOS_ENABLE_CUDA) || defined(KOKKOS_ENABLE_HIP)
using Device = Kokkos::DefaultExecutionSpace;
/// The one GPU that the process has.
inline Device device(std::size_t) { return Device(); }
/// Instances of that GPU, each with a stream of its own.
inline std::vector<Device> devices(std::size_t count) {
  return Kokkos::Experimental::partition_space(Device(), std::vector<int>(count, 1));
}
#else
using Device = TwinDevice;
/// Device `index`, of eight. Device 0 is the default instance, whose queue Kokkos uses where a call names no space.
inline Device device(std::size_t index) { return TwinDevice(index); }
/// Devices of which none reaches another's memory, and none is the default instance.
inline std::vector<Device> devices(std::size_t count) {
  std::vector<Device> all;
  for (std::size_t index = 1; index <= count; ++index) all.push_back(device(index));
  return all;
}
/// Bytes that a device says it has left.
inline std::size_t free_memory = std::size_t{1} << 30;
#endif

}  // namespace trireme::test

#if !defined(KOKKOS_ENABLE_CUDA) && !defined(KOKKOS_ENABLE_HIP)
/// A process that sees three of the devices.
template <>
struct trireme::DeviceRuntime<trireme::test::TwinDevice> {
  using Stream = std::size_t;
  static std::size_t count() { return 3; }
  static std::size_t own(test::TwinDevice const& space) { return space.device(); }
  static std::size_t free_memory(test::TwinDevice const&) { return test::free_memory; }
  static Stream make_stream(std::size_t device) { return device; }
  static void destroy(Stream) {}
};
#endif
