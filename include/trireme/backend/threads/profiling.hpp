/// Names of kernels, fences and regions for Kokkos' tools, which cost nothing where no tool is loaded.
#pragma once

#include <cstdint>
#include <string>

#include <Kokkos_Core.hpp>

namespace trireme {

/// A Kokkos tool's label: Kokkos takes strings, which allocate at this length, so it is empty unless a tool reads it.
inline std::string tool_label(char const* text) {
  return Kokkos::Tools::profileLibraryLoaded() ? std::string(text) : std::string();
}

/// Shows in a loaded tool as a region for as long as it lives.
class [[nodiscard]] ProfilingRegion {
 public:
  /// Begins a region of this name.
  explicit ProfilingRegion(char const* name) : shown_(Kokkos::Tools::profileLibraryLoaded()) {
    if (shown_) Kokkos::Profiling::pushRegion(name);
  }
  ProfilingRegion(ProfilingRegion const&) = delete;
  ProfilingRegion& operator=(ProfilingRegion const&) = delete;
  ~ProfilingRegion() {
    if (shown_) Kokkos::Profiling::popRegion();
  }

 private:
  bool shown_;
};

/// Shows in a loaded tool as a loop of a space, as long as it lives.
class [[nodiscard]] ProfilingLoop {
 public:
  /// Begins a loop of this label, as Kokkos's parallel_for does.
  template <class Space>
  ProfilingLoop(Space const& space, char const* label) : shown_(Kokkos::Tools::profileLibraryLoaded()) {
    if (shown_) Kokkos::Tools::beginParallelFor(label, Kokkos::Tools::Experimental::device_id(space), &kernel_);
  }
  ProfilingLoop(ProfilingLoop const&) = delete;
  ProfilingLoop& operator=(ProfilingLoop const&) = delete;
  ~ProfilingLoop() {
    if (shown_) Kokkos::Tools::endParallelFor(kernel_);
  }

 private:
  bool shown_;
  std::uint64_t kernel_ = 0;
};

}  // namespace trireme
