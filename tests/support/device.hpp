/// Device: the space of device tests. The GPU that Kokkos was built for, elsewhere the device in software.
#pragma once

#include <cstddef>

#include <Kokkos_Core.hpp>

#if !defined(KOKKOS_ENABLE_CUDA) && !defined(KOKKOS_ENABLE_HIP)
#include "support/twin_device.hpp"
#endif

namespace trireme::test {

#if defined(KOKKOS_ENABLE_CUDA) || defined(KOKKOS_ENABLE_HIP)
using Device = Kokkos::DefaultExecutionSpace;
/// The one GPU that the process has.
inline Device device(std::size_t) { return Device(); }
#else
using Device = TwinDevice;
/// Device `index`, of eight. Device 0 is the default instance, whose queue Kokkos uses where a call names no space.
inline Device device(std::size_t index) { return TwinDevice(index); }
#endif

}  // namespace trireme::test
