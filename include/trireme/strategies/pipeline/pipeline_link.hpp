/// PipelineLink: messages of a stage to the next one and to the one before.
#pragma once

#include <cstddef>
#include <vector>

#include "trireme/backend/threads/profiling.hpp"
#include "trireme/mpi/communicator.hpp"
#include "trireme/mpi/request.hpp"
#include "trireme/strategies/engine/host_stage.hpp"

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
  void wait_all() {
    for (Slot& slot : slots_) slot.request.wait();
  }

  /// The elements must not change until `wait(slot)`.
  void send(std::size_t slot, T* data, std::size_t count) {
    if (count == 0) return;
    ProfilingRegion const region("trireme::PipelineLink::send");
    space_.fence(tool_label("trireme: activations complete before they travel"));
    slots_[slot].request = group_->isend(slots_[slot].stage.read(data, count), neighbour_);
  }

  void receive(T* data, std::size_t count) {
    if (count == 0) return;
    ProfilingRegion const region("trireme::PipelineLink::receive");
    group_->receive(received_.place(data, count), neighbour_);
    received_.placed(data, count);
  }

 private:
  struct Slot {
    Request request;
    HostStage<T, Space> stage;
  };

  Communicator const* group_;
  Space space_;
  std::size_t neighbour_;
  std::vector<Slot> slots_;
  HostStage<T, Space> received_;
};

}  // namespace trireme
