/// Instances of trireme/backend/execution/views.hpp, in the library alone.
#pragma once

#include "trireme/backend/execution/views.hpp"

#include <cstddef>

#include <Kokkos_Core.hpp>

#ifdef TRIREME_COMPILED
namespace trireme {

template Kokkos::View<float*, Kokkos::HostSpace> uninitialized_view(char const*, std::size_t);
template Kokkos::View<double*, Kokkos::HostSpace> uninitialized_view(char const*, std::size_t);
template Kokkos::View<std::byte*, Kokkos::HostSpace> uninitialized_view(char const*, std::size_t);

}  // namespace trireme
#endif
