/// Contexts whose kernels run on the host.
#pragma once

#include <Kokkos_Core.hpp>

namespace trireme {

/// True if the kernels of a context work in memory that the host can read, with host libraries.
template <class Context>
inline constexpr bool is_host_context =
    Kokkos::SpaceAccessibility<Kokkos::DefaultHostExecutionSpace, typename Context::memory_space>::accessible;

}  // namespace trireme
