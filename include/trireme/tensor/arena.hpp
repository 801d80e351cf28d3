/// Arenas: one contiguous allocation in which tensors start at multiples of 64 bytes and the padding is zero.
#pragma once

#include <cstddef>

#include <Kokkos_Core.hpp>

namespace trireme {

/// Alignment of an arena's tensors, in bytes: a cache line, and the widest vector of today's processors.
inline constexpr std::size_t arena_alignment = 64;

/// Bytes rounded up to a multiple of the arena's alignment.
constexpr std::size_t aligned_bytes(std::size_t bytes) {
  return (bytes + arena_alignment - 1) / arena_alignment * arena_alignment;
}

/// Elements of T that a tensor of `count` elements takes in an arena.
template <class T>
constexpr std::size_t aligned_count(std::size_t count) {
  return aligned_bytes(count * sizeof(T)) / sizeof(T);
}

/// Parameters, gradients or one optimizer slot of a whole model.
template <class T, class Space>
using Arena = Kokkos::View<T*, typename Space::memory_space>;

/// Divides a workspace into pieces. Forward and backward take the same pieces in the same order, so that both find the
/// same memory although no address is stored.
class Workspace {
 public:
  /// Workspace that begins at this address.
  explicit constexpr Workspace(std::byte* begin) : next_(begin) {}

  /// Next piece, for `count` elements, aligned as `aligned_bytes` has it.
  template <class T>
  T* take(std::size_t count) {
    T* piece = reinterpret_cast<T*>(next_);
    next_ += aligned_bytes(count * sizeof(T));
    return piece;
  }

 private:
  std::byte* next_;
};

}  // namespace trireme
