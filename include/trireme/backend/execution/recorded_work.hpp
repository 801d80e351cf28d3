/// RecordedWork: kernels and copies of a device's instance, recorded once and launched together.
#pragma once

#include <exception>
#include <string>
#include <utility>

#include <Kokkos_Core.hpp>

#include "trireme/backend/threads/launch_turn.hpp"
#include "trireme/backend/threads/profiling.hpp"
#include "trireme/core/error.hpp"
#include "trireme/core/text.hpp"

namespace trireme {

/// The graphs of a space's devices:
///   Graph                an executable graph
///   obstacle()           why nothing can be recorded at present, or null
///   begin(space)         what this thread enqueues on the instance is recorded from now on, and not run
///   end(space)           the recorded graph; throws if something in between could not be recorded
///   abandon(space)       ends a recording that is not needed
///   launch(space, graph), destroy(graph)
/// Specialized for CUDA and HIP.
template <class Space>
struct DeviceGraph;

/// True for spaces whose instances can record.
template <class Space>
concept RecordsWork = requires { typename DeviceGraph<Space>::Graph; };

// Thread-local capture. An allocation, or another call that a graph does not repeat, is an error in this thread, from
// which the caller recovers; relaxed capture would let it pass. Other threads may make such calls; global capture would
// let them fail, and invalidate the recording. In no mode may a thread wait for the whole device, or use its legacy
// stream, which waits for those that Kokkos creates: such a call fails, and invalidates the recording.
#define TRIREME_DEVICE_GRAPH(Space, api, own_stream)                                                               \
  template <>                                                                                                      \
  struct DeviceGraph<Space> {                                                                                      \
    using Graph = api##GraphExec_t;                                                                                \
    static char const* obstacle() {                                                                                \
      return Kokkos::Tools::profileLibraryLoaded() ? "a Kokkos tool waits for each kernel" : nullptr;              \
    }                                                                                                              \
    static void begin(Space const& space) {                                                                        \
      check(api##StreamBeginCapture(space.own_stream(), api##StreamCaptureModeThreadLocal), "StreamBeginCapture"); \
    }                                                                                                              \
    static Graph end(Space const& space) {                                                                         \
      api##Graph_t recorded{};                                                                                     \
      check(api##StreamEndCapture(space.own_stream(), &recorded), "StreamEndCapture");                             \
      Graph graph{};                                                                                               \
      auto const status = api##GraphInstantiateWithFlags(&graph, recorded, 0);                                     \
      static_cast<void>(api##GraphDestroy(recorded));                                                              \
      check(status, "GraphInstantiate");                                                                           \
      return graph;                                                                                                \
    }                                                                                                              \
    static void abandon(Space const& space) {                                                                      \
      api##Graph_t recorded{};                                                                                     \
      if (api##StreamEndCapture(space.own_stream(), &recorded) == api##Success && recorded)                        \
        static_cast<void>(api##GraphDestroy(recorded));                                                            \
      static_cast<void>(api##GetLastError());                                                                      \
    }                                                                                                              \
    static void launch(Space const& space, Graph graph) {                                                          \
      check(api##GraphLaunch(graph, space.own_stream()), "GraphLaunch");                                           \
    }                                                                                                              \
    static void destroy(Graph graph) { static_cast<void>(api##GraphExecDestroy(graph)); }                          \
                                                                                                                   \
   private:                                                                                                        \
    static void check(api##Error_t status, char const* call) {                                                     \
      if (status == api##Success) return;                                                                          \
      static_cast<void>(api##GetLastError()); /* which later calls would return again */                           \
      throw Error(formatted(#api "{} failed: {}", call, api##GetErrorString(status)));                             \
    }                                                                                                              \
  }

#ifdef KOKKOS_ENABLE_CUDA
TRIREME_DEVICE_GRAPH(Kokkos::Cuda, cuda, cuda_stream);
#endif
#ifdef KOKKOS_ENABLE_HIP
TRIREME_DEVICE_GRAPH(Kokkos::HIP, hip, hip_stream);
#endif
#undef TRIREME_DEVICE_GRAPH

/// Work of one instance. Kernels keep their functors as they were: what differs from launch to launch has to lie in the
/// device's memory, and what they point to has to stay. Between the first and the last kernel there is no allocation,
/// no wait, and no copy from or to the host. What other threads enqueue on the instance meanwhile is recorded, too, and
/// `Kokkos::fence` in one of them fails and ends the recording.
template <RecordsWork Space>
class RecordedWork {
  using Runtime = DeviceGraph<Space>;

 public:
  /// Records what `work()` enqueues on the instance, without running it.
  /// \throws Error if something in it cannot be recorded, unless Kokkos throws its own; then nothing has run.
  template <class Work>
  RecordedWork(Space const& space, Work const& work) : space_(space) {
    Runtime::begin(space_);
    try {
      work();
    } catch (...) {
      Runtime::abandon(space_);
      throw;
    }
    graph_ = Runtime::end(space_);
  }
  RecordedWork(RecordedWork const&) = delete;
  RecordedWork& operator=(RecordedWork const&) = delete;
  ~RecordedWork() {
    space_.fence(tool_label("trireme: recorded work complete before it is destroyed"));
    Runtime::destroy(graph_);
  }

  /// Enqueues all of it.
  void launch() const {
    detail::LaunchTurn const turn;
    Runtime::launch(space_, graph_);
  }

 private:
  Space space_;
  typename Runtime::Graph graph_{};
};

}  // namespace trireme
