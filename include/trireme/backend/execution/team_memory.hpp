/// Memory that the teams of a kernel share.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include <Kokkos_Core.hpp>

#include "trireme/backend/execution/views.hpp"

namespace trireme::detail {

/// Memory of a device for what the teams of one kernel at a time leave for each other. It grows with the first kernel
/// of a size: a kernel whose like has run allocates nothing, and can be recorded.
template <class Space>
class TeamMemory {
 public:
  /// Room for `count` numbers.
  template <class T>
  T* numbers(Space const& space, std::size_t count) {
    static_assert(alignof(T) <= alignof(double));
    std::size_t const doubles = (count * sizeof(T) + sizeof(double) - 1) / sizeof(double);
    if (numbers_.extent(0) < doubles)
      numbers_ = uninitialized_view<Kokkos::View<double*, MemorySpace>>(space, "trireme::partial_sums", doubles);
    return reinterpret_cast<T*>(numbers_.data());
  }

  /// Counts of teams that have arrived, which are 0 before each kernel and after it.
  unsigned* arrivals(Space const& space, std::size_t count) {
    if (arrivals_.extent(0) < count)
      arrivals_ = Kokkos::View<unsigned*, MemorySpace>(Kokkos::view_alloc(space, "trireme::arrivals"), count);
    return arrivals_.data();
  }

  /// Adds the addresses of the memory, which moves when it grows.
  void list_addresses(std::vector<std::uint64_t>& all) const {
    all.push_back(reinterpret_cast<std::uintptr_t>(numbers_.data()));
    all.push_back(reinterpret_cast<std::uintptr_t>(arrivals_.data()));
  }

 private:
  using MemorySpace = typename Space::memory_space;
  Kokkos::View<double*, MemorySpace> numbers_;
  Kokkos::View<unsigned*, MemorySpace> arrivals_;
};

}  // namespace trireme::detail
