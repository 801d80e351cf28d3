/// Four: neighbouring numbers that a thread of a device reads and writes at once, which takes fewer instructions, and
/// keeps four in flight. A functor of elements that has `four` beside operator() says by `takes_four()` whether its
/// addresses suit; a device calls `four` then, with the index of the first.
#pragma once

#include <cstddef>
#include <cstdint>

#include <Kokkos_Macros.hpp>

namespace trireme::detail {

/// Four numbers side by side.
template <class T>
struct alignas(4 * sizeof(T)) Four {
  T at[4];

  /// Those from this address on.
  static KOKKOS_FUNCTION Four& from(T* first) { return *reinterpret_cast<Four*>(first); }
  /// The same of numbers that are read alone.
  static KOKKOS_FUNCTION Four const& from(T const* first) { return *reinterpret_cast<Four const*>(first); }
};

/// True if four numbers may be read from the address at once.
template <class T>
bool starts_four(T const* first) {
  return reinterpret_cast<std::uintptr_t>(first) % alignof(Four<T>) == 0;
}

}  // namespace trireme::detail
