/// Device memory that MPI cannot read has a twin on the host, which travels in its place.
#pragma once

#include <cstddef>

#include <Kokkos_Core.hpp>

#include "trireme/backend/execution/views.hpp"
#include "trireme/backend/threads/profiling.hpp"

namespace trireme {

/// Where the host reaches the memory itself, the twin is that memory, and nothing is copied.
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

  /// The twin's elements [begin, begin + count) become those of the memory, as the space's work so far leaves it.
  void pull(Space const& space, std::size_t begin, std::size_t count) const {
    if constexpr (is_needed) {
      copy_view(space, host_view(host_.data() + begin, count), space_view<Space>(data_ + begin, count));
      space.fence(tool_label("trireme: host twin filled"));
    } else {
      space.fence(tool_label("trireme: memory complete before it travels"));
      (void)begin, (void)count;
    }
  }
  /// The other way round.
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
