/// OnDevice: numbers in a device's memory, for tests that call kernels.
#pragma once

#include <vector>

#include <Kokkos_Core.hpp>

#include "support/device.hpp"

namespace trireme::test {

/// A copy of a vector on device 1.
template <class T>
class OnDevice {
 public:
  explicit OnDevice(std::vector<T> const& values)
      : view_(Kokkos::view_alloc(device(1), Kokkos::WithoutInitializing, "values"), values.size()) {
    Kokkos::deep_copy(view_,
                      Kokkos::View<T const*, Kokkos::HostSpace, Kokkos::MemoryUnmanaged>(values.data(), values.size()));
  }
  T* data() const { return view_.data(); }
  std::vector<T> values() const {
    auto const host = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), view_);
    return {host.data(), host.data() + host.size()};
  }

 private:
  Kokkos::View<T*, Device::memory_space> view_;
};

}  // namespace trireme::test
