/// Loops of a host space over kernels of any type.
#pragma once

#include <algorithm>
#include <cstddef>

#include <Kokkos_Core.hpp>

#include "trireme/backend/threads/profiling.hpp"
#include "trireme/backend/threads/thread_pool.hpp"

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

/// Elements of an element-wise kernel that one thread computes in the time in which another is woken: about a
/// microsecond, twice over since results then lie in several caches.
inline constexpr std::size_t elements_worth_a_thread = std::size_t{1} << 13;

/// The threads that a kernel over so many elements is worth, of `threads`.
constexpr std::size_t threads_for(std::size_t threads, std::size_t elements) {
  return std::clamp<std::size_t>(elements / elements_worth_a_thread, 1, threads);
}

/// Calls a kernel for i < n, 0 < n, on `threads` threads of a host space.
template <class Space>
void run_host_loop(Space const& space, std::size_t threads, char const* label, std::size_t n, HostKernel kernel) {
  std::size_t const shares = std::min(n, threads);
  ProfilingLoop const loop(space, label);
  ThreadPool::of(space).run(shares, HostShares{kernel, n, shares}, reinterpret_cast<void (*)()>(kernel.run));
}

/// f(i) for i < n on `threads` threads of a host space.
template <class Space, class F>
void host_loop(Space const& space, std::size_t threads, char const* label, std::size_t n, F const& f) {
  if (n > 0) run_host_loop(space, threads, label, n, {run_host_kernel<F>, &f});
}

#ifdef TRIREME_COMPILED
extern template void run_host_loop(Kokkos::DefaultHostExecutionSpace const&, std::size_t, char const*, std::size_t,
                                   HostKernel);
#endif

}  // namespace trireme::detail
