/// Copies into a team's scratch memory that run while its threads compute.
#pragma once

#include <Kokkos_Core.hpp>

namespace trireme::detail {

/// True for spaces whose threads go on while their copies are under way.
template <class Space>
inline constexpr bool copies_async = false;
#ifdef KOKKOS_ENABLE_CUDA
template <>
inline constexpr bool copies_async<Kokkos::Cuda> = true;
#endif

/// Begins to copy a number, or to store a zero, which may take until `await_copies`. `from` is not read for a zero.
/// CUDA devices from compute capability 8.0 on copy past the registers; others copy at once.
template <class T>
KOKKOS_FUNCTION void copy_or_clear_async(T* to, T const* from, bool copies) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
  static_assert(sizeof(T) == 4 || sizeof(T) == 8);
  auto const address = static_cast<unsigned>(__cvta_generic_to_shared(to));
  int const bytes = copies ? static_cast<int>(sizeof(T)) : 0;
  asm volatile("cp.async.ca.shared.global [%0], [%1], %2, %3;" ::"r"(address), "l"(from), "n"(sizeof(T)), "r"(bytes)
               : "memory");
#else
  *to = copies ? *from : T{0};
#endif
}

/// Ends a group of a thread's copies, which may be empty.
KOKKOS_INLINE_FUNCTION void end_group_of_copies() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
  asm volatile("cp.async.commit_group;" ::: "memory");
#endif
}

/// Waits until at most `Groups` of the thread's groups are on their way. Other threads see its copies behind a barrier.
template <int Groups>
KOKKOS_FUNCTION void await_copies() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
  asm volatile("cp.async.wait_group %0;" ::"n"(Groups) : "memory");
#endif
}

}  // namespace trireme::detail
