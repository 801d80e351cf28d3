/// Contexts and spaces whose kernels run on the host.
#pragma once

#include <algorithm>
#include <cstddef>

#include <Kokkos_Core.hpp>

namespace trireme {

/// True if kernels of the space work in memory that the host can read, with host libraries.
template <class Space>
inline constexpr bool is_host_space =
    Kokkos::SpaceAccessibility<Kokkos::DefaultHostExecutionSpace, typename Space::memory_space>::accessible;

/// The same for the kernels of a context.
template <class Context>
inline constexpr bool is_host_context = is_host_space<Context>;

namespace detail {

/// Samples whose patches a convolution of a whole space unfolds at once: as many as fit in 64 MB.
constexpr std::size_t convolution_chunk_of_space(std::size_t bytes_per_sample) {
  return std::max<std::size_t>(1, (std::size_t{64} << 20) / std::max<std::size_t>(1, bytes_per_sample));
}

}  // namespace detail
}  // namespace trireme
