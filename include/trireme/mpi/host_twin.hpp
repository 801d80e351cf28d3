/// HostTwin: a copy on the host of device memory that MPI cannot read; MPI transfers the copy.
#pragma once

#include <cstddef>

#include <Kokkos_Core.hpp>

#include "trireme/backend/execution/views.hpp"
#include "trireme/backend/threads/profiling.hpp"

namespace trireme {

/// Host buffer for an array of T in Space. If the host can access the memory, the twin is that memory, and nothing is
/// copied.
template <class T, class Space>
class HostTwin {
  static constexpr bool is_needed =
      !Kokkos::SpaceAccessibility<Kokkos::HostSpace, typename Space::memory_space>::accessible;
  using Host = Kokkos::View<T*, Kokkos::HostSpace>;

 public:
  HostTwin() = default;
  HostTwin(T* data, std::size_t count) : data_(data) {
    if constexpr (is_needed) host_ = Host("trireme::host_twin", count);
  }

  T* data() const { return is_needed ? host_.data() : data_; }

  /// Copies elements [begin, begin + count) of the memory into the twin, after the space's work so far.
  void pull(Space const& space, std::size_t begin, std::size_t count) const {
    if constexpr (is_needed) {
      copy_view(space, host_view(host_.data() + begin, count), space_view<Space>(data_ + begin, count));
      space.fence(tool_label("trireme: host twin filled"));
    } else {
      space.fence(tool_label("trireme: memory complete before it travels"));
      (void)begin, (void)count;
    }
  }
  /// Copies elements [begin, begin + count) of the twin into the memory.
  void push(Space const& space, std::size_t begin, std::size_t count) const {
    if constexpr (is_needed)
      copy_view(space, space_view<Space>(data_ + begin, count), host_view(host_.data() + begin, count));
    else
      (void)space, (void)begin, (void)count;
  }

 private:
  T* data_ = nullptr;
  Host host_;
};

}  // namespace trireme
