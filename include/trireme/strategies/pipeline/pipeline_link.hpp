/// PipelineLink: messages of a stage to the next one and to the one before.
#pragma once

#include <cstddef>
#include <vector>

#include "trireme/backend/threads/profiling.hpp"
#include "trireme/mpi/communicator.hpp"
#include "trireme/mpi/host_mirror.hpp"
#include "trireme/mpi/request.hpp"

namespace trireme {

/// Messages to one neighbour, in the order in which it receives them; none is sent for 0 elements.
template <class T, class Space>
class PipelineLink {
 public:
  /// \param slots  messages that may be on their way at once.
  PipelineLink(Communicator const& group, Space const& space, std::size_t neighbour, std::size_t slots)
      : group_(&group), space_(space), neighbour_(neighbour), slots_(slots) {}

  /// Waits until the memory of message `slot` may be used again.
  void wait(std::size_t slot) { slots_[slot].request.wait(); }
  /// Waits for all messages that were sent.
  void wait_all() {
    for (Slot& slot : slots_) slot.request.wait();
  }

  /// The elements must not change until `wait(slot)`.
  void send(std::size_t slot, T* data, std::size_t count) {
    if (count == 0) return;
    ProfilingRegion const region("trireme::PipelineLink::send");
    HostMirror<T, Space>& mirror = slots_[slot].mirror;
    mirror.bind(data, count);
    mirror.pull(space_);
    slots_[slot].request = group_->isend(mirror.values(), neighbour_);
  }

  /// Waits for the next message of the neighbour, of `count` elements.
  void receive(T* data, std::size_t count) {
    if (count == 0) return;
    ProfilingRegion const region("trireme::PipelineLink::receive");
    received_.bind(data, count);
    received_.prepare(space_);
    group_->receive(received_.values(), neighbour_);
    received_.push_all(space_);
  }

 private:
  struct Slot {
    Request request;
    HostMirror<T, Space> mirror;
  };

  Communicator const* group_;
  Space space_;
  std::size_t neighbour_;
  std::vector<Slot> slots_;
  HostMirror<T, Space> received_;
};

}  // namespace trireme
