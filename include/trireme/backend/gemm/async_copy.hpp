/// Copies into a team's scratch memory that run while its threads compute.
#pragma once

#include <type_traits>

#include <Kokkos_Core.hpp>

namespace trireme::detail {

/// The copies of one thread, in groups. On CUDA devices from compute capability 8.0 on they pass by the registers, and
/// the thread goes on; elsewhere they are made at once.
template <class Space>
struct AsyncCopies {
  /// True if threads go on.
#ifdef KOKKOS_ENABLE_CUDA
  static constexpr bool overlap = std::is_same_v<Space, Kokkos::Cuda>;
#else
  static constexpr bool overlap = false;
#endif

  /// Begins to copy a number, or to store a zero, which takes until `await`. `from` is not read for a zero.
  template <class T>
  KOKKOS_FUNCTION void copy_or_clear(T* to, T const* from, bool copies) {
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

  /// Ends a group, which may be empty.
  KOKKOS_FUNCTION void end_group() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
    asm volatile("cp.async.commit_group;" ::: "memory");
#endif
  }

  /// Waits until at most `Groups` groups are on their way. Other threads see the copies behind a barrier.
  template <int Groups>
  KOKKOS_FUNCTION void await() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
    asm volatile("cp.async.wait_group %0;" ::"n"(Groups) : "memory");
#endif
  }
};

}  // namespace trireme::detail
