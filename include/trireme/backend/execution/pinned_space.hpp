/// PinnedSpace: host memory that a device's copies read and write directly.
#pragma once

#include <Kokkos_Core.hpp>

namespace trireme::detail {

#ifdef KOKKOS_HAS_SHARED_HOST_PINNED_SPACE
using PinnedSpace = Kokkos::SharedHostPinnedSpace;
#else
using PinnedSpace = Kokkos::HostSpace;
#endif

}  // namespace trireme::detail
