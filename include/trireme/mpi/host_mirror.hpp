/// HostMirror: a copy on the host of device memory that MPI cannot read; MPI transfers the copy.
#pragma once

#include <cstddef>
#include <span>

#include <Kokkos_Core.hpp>

#include "trireme/backend/execution/views.hpp"
#include "trireme/backend/threads/profiling.hpp"

namespace trireme {

/// Host memory for an array of T in Space. If the host can access the array, its mirror is the array itself, and
/// nothing is copied.
template <class T, class Space>
class HostMirror {
  static constexpr bool is_needed =
      !Kokkos::SpaceAccessibility<Kokkos::HostSpace, typename Space::memory_space>::accessible;
  using Host = Kokkos::View<T*, Kokkos::HostSpace>;

 public:
  HostMirror() = default;
  HostMirror(T* data, std::size_t count) { bind(data, count); }

  /// Makes it the mirror of `count` elements elsewhere. Host memory is allocated only where a larger array comes, and
  /// copies to or from the earlier array have to be complete.
  std::span<T> bind(T* data, std::size_t count) {
    data_ = data;
    count_ = count;
    if constexpr (is_needed)
      if (host_.extent(0) < count) host_ = uninitialized_view<Host>("trireme::host_mirror", count);
    return values();
  }

  T* data() const { return is_needed ? host_.data() : data_; }
  std::span<T> values() const { return {data(), count_}; }

  /// Copies elements [begin, begin + count) of the array into the mirror, after the space's work so far.
  void pull(Space const& space, std::size_t begin, std::size_t count) const {
    if constexpr (is_needed) {
      copy_view(space, host_view(host_.data() + begin, count), space_view<Space>(data_ + begin, count));
      space.fence(tool_label("trireme: host mirror complete"));
    } else {
      space.fence(tool_label("trireme: memory complete before it travels"));
      (void)begin, (void)count;
    }
  }
  void pull(Space const& space) const { pull(space, 0, count_); }

  /// Copies elements [begin, begin + count) of the mirror into the array; may still be under way on return.
  void push(Space const& space, std::size_t begin, std::size_t count) const {
    if constexpr (is_needed)
      copy_view(space, space_view<Space>(data_ + begin, count), host_view(host_.data() + begin, count));
    else
      (void)space, (void)begin, (void)count;
  }
  /// Copies all of the mirror into the array; complete on return, so that the mirror's memory may change.
  void push_all(Space const& space) const {
    push(space, 0, count_);
    if constexpr (is_needed) space.fence(tool_label("trireme: host mirror copied"));
  }

 private:
  T* data_ = nullptr;
  std::size_t count_ = 0;
  Host host_;
};

}  // namespace trireme
