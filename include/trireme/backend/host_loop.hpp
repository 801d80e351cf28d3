/// Loops of a host space over kernels of any type.
#pragma once

#include <algorithm>
#include <cstddef>

#include <Kokkos_Core.hpp>

#include "trireme/backend/profiling.hpp"

namespace trireme::detail {

/// A kernel and how to call it for a range of indices.
struct HostKernel {
  void (*run)(void const* kernel, std::size_t begin, std::size_t end);
  void const* kernel;
};

/// One call of a kernel for each thread's share of the indices.
struct HostShares {
  HostKernel kernel;
  std::size_t n, shares;
  void operator()(std::size_t share) const {
    std::size_t const size = n / shares, longer = n % shares;
    std::size_t const begin = share * size + std::min(share, longer);
    kernel.run(kernel.kernel, begin, begin + size + (share < longer ? 1 : 0));
  }
};

template <class F>
void run_host_kernel(void const* kernel, std::size_t begin, std::size_t end) {
  F const& f = *static_cast<F const*>(kernel);
  for (std::size_t i = begin; i < end; ++i) f(i);
}

template <class Space>
[[gnu::noinline]] void host_loop(Space const& space, std::size_t threads, char const* label, std::size_t n,
                                 HostKernel const& kernel) {
  std::size_t const shares = std::min(n, threads);
  // To choose the chunk itself, Kokkos makes an instance of the space, which allocates.
  Kokkos::RangePolicy<Space, Kokkos::IndexType<std::size_t>> const policy(space, 0, shares, Kokkos::ChunkSize(1));
  Kokkos::parallel_for(tool_label(label), policy, HostShares{kernel, n, shares});
}

/// f(i) for i < n on all threads of a host space. One Kokkos loop serves all kernels: a loop of its own for each costs
/// more time to compile than the kernel.
template <class Space, class F>
void host_loop(Space const& space, std::size_t threads, char const* label, std::size_t n, F const& f) {
  if (n > 0) host_loop(space, threads, label, n, HostKernel{run_host_kernel<F>, &f});
}

}  // namespace trireme::detail
