/// The gradient arena cut into buckets, whose reductions start as soon as backward has finished them.
#pragma once

#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

#include <Kokkos_Core.hpp>

#include "trireme/backend/profiling.hpp"
#include "trireme/collectives/communicator.hpp"
#include "trireme/collectives/request.hpp"
#include "trireme/collectives/single_process.hpp"
#include "trireme/layers/call.hpp"
#include "trireme/models/description.hpp"

namespace trireme {

/// [begin, end) of the arena, in elements.
struct BucketRange {
  std::size_t begin, end;
};

/// Ranges of at least `bucket_bytes` (but the last), in the order in which backward finishes them: from the end of the
/// arena to its beginning, cut between parameters.
template <class T>
std::vector<BucketRange> bucket_ranges(ModelDescription const& model, std::size_t bucket_bytes) {
  std::vector<BucketRange> ranges;
  std::size_t end = model.arena_elements();  // the states lie at the end, and are final before backward begins
  for (auto parameter = model.parameters.rbegin(); parameter != model.parameters.rend(); ++parameter)
    if ((end - parameter->offset) * sizeof(T) >= bucket_bytes || parameter->offset == 0) {
      ranges.push_back({parameter->offset, end});
      end = parameter->offset;
    }
  return ranges;
}

/// Where there is one process, there is nothing to reduce.
template <class T, class Space, class Group>
class GradientBuckets {
 public:
  GradientBuckets(Group const&, Space const&, ModelDescription const&, std::size_t) {}
  void begin(T*) {}
  GradientListener* listener() { return nullptr; }
  void finish() {}
};

/// Sums the gradients of all processes of a communicator. Device memory goes through the host unless the MPI is said
/// to read it itself (`gpu_aware`).
template <class T, class Space>
class GradientBuckets<T, Space, Communicator> final : public GradientListener {
  using Device = Kokkos::View<T*, typename Space::memory_space, Kokkos::MemoryUnmanaged>;
  using Host = Kokkos::View<T*, Kokkos::HostSpace>;
  static constexpr bool host_visible =
      Kokkos::SpaceAccessibility<Kokkos::HostSpace, typename Space::memory_space>::accessible;

 public:
  GradientBuckets(Communicator const& communicator, Space const& space, ModelDescription const& model,
                  std::size_t bucket_bytes, bool gpu_aware = false)
      : communicator_(&communicator),
        space_(space),
        ranges_(bucket_ranges<T>(model, bucket_bytes)),
        staged_(!host_visible && !gpu_aware) {
    if (staged_) stage_ = Host("trireme::gradient_stage", model.arena_elements());
  }

  /// A step begins whose sums are to be at `gradients`.
  void begin(T* gradients) {
    gradients_ = gradients;
    started_ = 0;
  }

  /// For backward to tell, or null where nothing would be gained by telling.
  GradientListener* listener() { return communicator_->size() > 1 ? this : nullptr; }

  void gradients_ready(void const* from) override {
    while (started_ < ranges_.size() && gradients_ + ranges_[started_].begin >= from) start(ranges_[started_++]);
    requests_.progress();
  }

  /// Waits until the sums of all buckets are in the arena.
  void finish() {
    if (communicator_->size() == 1) return;
    gradients_ready(gradients_);
    requests_.wait_all();
    if (staged_) Kokkos::deep_copy(space_, Device(gradients_, stage_.extent(0)), stage_);
  }

 private:
  void start(BucketRange const& range) {
    ProfilingRegion const region("trireme::GradientBuckets::start");
    std::size_t const count = range.end - range.begin;
    T* data = gradients_ + range.begin;
    if (staged_) {
      Kokkos::View<T*, Kokkos::HostSpace, Kokkos::MemoryUnmanaged> const part(stage_.data() + range.begin, count);
      Kokkos::deep_copy(space_, part, Device(data, count));
      data = part.data();
    }
    space_.fence(tool_label("trireme: bucket complete before its allreduce"));
    requests_.push(communicator_->iallreduce_sum(data, count));
  }

  Communicator const* communicator_;
  Space space_;
  std::vector<BucketRange> ranges_;
  bool staged_;
  Host stage_;
  T* gradients_ = nullptr;
  std::size_t started_ = 0;
  Requests requests_;
};

}  // namespace trireme
