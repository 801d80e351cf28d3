/// Instances of an execution space on each device of the machine, by the device's number.
#pragma once

#include <cstddef>
#include <map>
#include <mutex>
#include <string>
#include <utility>

#include <Kokkos_Core.hpp>

#include "trireme/backend/execution/running.hpp"
#include "trireme/core/error.hpp"
#include "trireme/core/text.hpp"

namespace trireme {

/// The runtime of a space's devices:
///   count()              devices that the process sees
///   own(space)           the number of an instance's device
///   free_memory(space)   bytes of memory that the device of an instance has left
///   make_stream(device), destroy(stream)
/// Specialized for CUDA and HIP.
template <class Space>
struct DeviceRuntime;

#define TRIREME_DEVICE_RUNTIME(Space, api, own_device)                                                             \
  template <>                                                                                                      \
  struct DeviceRuntime<Space> {                                                                                    \
    using Stream = api##Stream_t;                                                                                  \
    static std::size_t count() {                                                                                   \
      int devices = 0;                                                                                             \
      check(api##GetDeviceCount(&devices), "GetDeviceCount");                                                      \
      return static_cast<std::size_t>(devices);                                                                    \
    }                                                                                                              \
    static std::size_t own(Space const& space) { return static_cast<std::size_t>(space.own_device()); }            \
    static std::size_t free_memory(Space const& space) {                                                           \
      return on(own(space), [] {                                                                                   \
        std::size_t free = 0, total = 0;                                                                           \
        check(api##MemGetInfo(&free, &total), "MemGetInfo");                                                       \
        return free;                                                                                               \
      });                                                                                                          \
    }                                                                                                              \
    static Stream make_stream(std::size_t device) {                                                                \
      return on(device, [] {                                                                                       \
        Stream stream{};                                                                                           \
        check(api##StreamCreate(&stream), "StreamCreate");                                                         \
        return stream;                                                                                             \
      });                                                                                                          \
    }                                                                                                              \
    static void destroy(Stream stream) { static_cast<void>(api##StreamDestroy(stream)); }                          \
                                                                                                                   \
   private:                                                                                                        \
    static void check(api##Error_t status, char const* call) {                                                     \
      if (status != api##Success) throw Error(formatted(#api "{} failed: {}", call, api##GetErrorString(status))); \
    }                                                                                                              \
    template <class F>                                                                                             \
    static auto on(std::size_t device, F const& f) -> decltype(f()) {                                              \
      int before = 0;                                                                                              \
      check(api##GetDevice(&before), "GetDevice");                                                                 \
      check(api##SetDevice(static_cast<int>(device)), "SetDevice");                                                \
      struct Back {                                                                                                \
        int device;                                                                                                \
        ~Back() { static_cast<void>(api##SetDevice(device)); }                                                     \
      } const back{before};                                                                                        \
      return f();                                                                                                  \
    }                                                                                                              \
  }

#ifdef KOKKOS_ENABLE_CUDA
TRIREME_DEVICE_RUNTIME(Kokkos::Cuda, cuda, cuda_device);
#endif
#ifdef KOKKOS_ENABLE_HIP
TRIREME_DEVICE_RUNTIME(Kokkos::HIP, hip, hip_device);
#endif
#undef TRIREME_DEVICE_RUNTIME

namespace detail {

/// The instance of a device that the library makes, one for each, which lives until Kokkos ends; of Kokkos's own device
/// the default instance. Any thread may call it. \throws ValueError if the process sees no such device.
template <class Space>
Space device_instance(std::size_t device) {
  using Runtime = DeviceRuntime<Space>;
  require_kokkos("an instance of a device");
  std::size_t const devices = Runtime::count();
  if (device >= devices) throw ValueError(formatted("there is no device {}: the process sees {}", device, devices));
  if (Space const space; Runtime::own(space) == device) return space;
  using Instances = std::map<std::size_t, std::pair<typename Runtime::Stream, Space>>;
  static Instances instances;
  static std::mutex mutex;
  std::lock_guard const lock(mutex);
  if (instances.empty())
    Kokkos::push_finalize_hook([] {
      for (auto all = std::exchange(instances, {}); auto& [number, instance] : all) {
        auto const stream = instance.first;
        instance.second = Space();
        Runtime::destroy(stream);
      }
    });
  auto found = instances.find(device);
  if (found == instances.end()) {
    auto const stream = Runtime::make_stream(device);
    found = instances.emplace(device, std::pair(stream, Space(stream))).first;
  }
  return found->second.second;
}

}  // namespace detail
}  // namespace trireme
