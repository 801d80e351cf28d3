/// HostMirror: a copy in pinned host memory of device memory that MPI cannot read; MPI transfers the copy.
#pragma once

#include <cstddef>
#include <span>

#include <Kokkos_Core.hpp>

#include "trireme/backend/execution/pinned_space.hpp"
#include "trireme/backend/execution/views.hpp"
#include "trireme/backend/threads/profiling.hpp"
#include "trireme/mpi/gpu_awareness.hpp"

namespace trireme {

/// Host memory for an array of T in Space. If MPI reads the array, its mirror is the array itself, and nothing is
/// copied.
template <class T, class Space>
class HostMirror {
  static constexpr bool on_device =
      !Kokkos::SpaceAccessibility<Kokkos::HostSpace, typename Space::memory_space>::accessible;
  using Host = Kokkos::View<T*, detail::PinnedSpace>;

 public:
  HostMirror() = default;
  /// Of an array that collectives add up, divide or gather.
  HostMirror(T* data, std::size_t count) : is_copy_(!mpi_reduces<Space>()) { bind(data, count); }

  /// Makes it the mirror of `count` elements elsewhere. Host memory is allocated only where a larger array comes, and
  /// copies to or from the earlier array have to be complete.
  std::span<T> bind(T* data, std::size_t count) {
    data_ = data;
    count_ = count;
    if constexpr (on_device)
      if (is_copy_ && host_.extent(0) < count) host_ = uninitialized_view<Host>("trireme::host_mirror", count);
    return values();
  }

  /// The array that it mirrors, in memory of the space.
  std::span<T> array() const { return {data_, count_}; }
  /// First element in host memory, or in the array itself if MPI reads it.
  T* data() const { return is_copy() ? host_.data() : data_; }
  /// Mirrored elements, which MPI reads and writes.
  std::span<T> values() const { return {data(), count_}; }

  /// Copies elements [begin, begin + count) of the array into the mirror, after the space's work so far.
  void pull(Space const& space, std::size_t begin, std::size_t count) const {
    if (is_copy()) {
      copy_view(space, host_part(begin, count), space_view<Space>(data_ + begin, count));
      space.fence(tool_label("trireme: host mirror complete"));
    } else {
      space.fence(tool_label("trireme: memory complete before it travels"));
    }
  }
  /// Copies all of the array into the mirror.
  void pull(Space const& space) const { pull(space, 0, count_); }

  /// Waits for the space's work that still reads what MPI is about to overwrite. To be called before a receive.
  void prepare([[maybe_unused]] Space const& space) const {
    if constexpr (on_device)
      if (!is_copy_) space.fence(tool_label("trireme: memory read before it is received into"));
  }

  /// Copies elements [begin, begin + count) of the mirror into the array; may still be under way on return.
  void push(Space const& space, std::size_t begin, std::size_t count) const {
    if (is_copy()) copy_view(space, space_view<Space>(data_ + begin, count), host_part(begin, count));
  }
  /// Copies all of the mirror into the array; complete on return, so that the mirror's memory may change.
  void push_all(Space const& space) const {
    push(space, 0, count_);
    if (is_copy()) space.fence(tool_label("trireme: host mirror copied"));
  }

 private:
  bool is_copy() const { return on_device && is_copy_; }
  auto host_part(std::size_t begin, std::size_t count) const {
    return Kokkos::View<T*, detail::PinnedSpace, Kokkos::MemoryUnmanaged>(host_.data() + begin, count);
  }

  T* data_ = nullptr;
  std::size_t count_ = 0;
  bool is_copy_ = !mpi_reads<Space>();
  Host host_;
};

}  // namespace trireme
