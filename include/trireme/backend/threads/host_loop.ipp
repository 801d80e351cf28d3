/// Instances of trireme/backend/threads/host_loop.hpp, in the library alone.
#pragma once

#include "trireme/backend/threads/host_loop.hpp"

#include <Kokkos_Core.hpp>
#include <cstddef>

#ifdef TRIREME_COMPILED
namespace trireme::detail {

template void run_host_loop(Kokkos::DefaultHostExecutionSpace const&, std::size_t, char const*, std::size_t,
                            HostKernel);

}  // namespace trireme::detail
#endif
