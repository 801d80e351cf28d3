/// Sums of gradients over the devices of one process, by copies between their memories.
#pragma once

#include <algorithm>
#include <cstddef>
#include <limits>
#include <string>
#include <vector>

#include <Kokkos_Core.hpp>

#include "trireme/backend/execution/views.hpp"
#include "trireme/backend/threads/launch_turn.hpp"
#include "trireme/backend/threads/profiling.hpp"
#include "trireme/core/row_range.hpp"
#include "trireme/layers/gradient_sink.hpp"
#include "trireme/models/description.hpp"
#include "trireme/mpi/thread_group.hpp"
#include "trireme/strategies/gradients/bucket_range.hpp"
#include "trireme/strategies/gradients/gradient_buckets.hpp"
#include "trireme/tensor/arena.hpp"

namespace trireme {

namespace kernels {

/// own[i] becomes the sum over the devices in their order; `others` has one array for each but this one.
template <class T>
struct SumDevices {
  T* own;
  T const* others;
  std::size_t stride, device, devices;
  KOKKOS_FUNCTION void operator()(std::size_t i) const {
    T sum = device == 0 ? own[i] : others[i];
    for (std::size_t d = 1; d < devices; ++d)
      sum += d == device ? own[i] : others[(d < device ? d : d - 1) * stride + i];
    own[i] = sum;
  }
};

}  // namespace kernels

/// Each device adds up its share of the arena, which it copies from all others, and then copies their sums: twice the
/// arena travels from and to each. The sums are bitwise the same on all. Kernels touch memory of their own device only,
/// since it may not reach that of its peers.
template <class T, class Space, class Tables>
class GradientBuckets<T, Space, ThreadGroup, Tables> {
 public:
  /// Exchange among the devices of a group of threads.
  template <class... Options>
  GradientBuckets(ThreadGroup const& group, Space const& space, ModelDescription const& model, Options const&...)
      : group_(&group), space_(space), tables_(group, space, model) {
    if (group.size() == 1) return;
    auto const ranges = bucket_ranges<T>(model, std::numeric_limits<std::size_t>::max());
    std::size_t largest = 0;
    for (std::size_t device = 0; device < group.size(); ++device) {
      auto const share = row_range(model.reduced_elements(), device, group.size());
      auto& pieces = shares_.emplace_back();
      for (BucketRange const& range : ranges)
        if (std::max(range.begin, share.begin) < std::min(range.end, share.end))
          pieces.push_back({std::max(range.begin, share.begin), std::min(range.end, share.end)});
      largest = std::max(largest, share.end - share.begin);
    }
    stride_ = aligned_count<T>(largest);
    received_ = uninitialized_view<Arena<T, Space>>(space, "trireme::received_gradients", (group.size() - 1) * stride_);
  }

  SharedGradients<T, Space>* shared() { return nullptr; }
  std::string placement() const { return group_->size() == 1 ? "not at all" : "by copies between devices"; }
  std::size_t memory_bytes() const { return received_.extent(0) * sizeof(T); }

  void begin(T* gradients) {
    tables_.begin(gradients);
    gradients_ = gradients;
  }
  GradientSink<T>* sink() { return tables_.sink(); }
  /// Gradients of lookup tables.
  Tables& tables() { return tables_; }

  /// Puts the sums over all devices into each one's arena. Collective.
  void finish() {
    if (group_->size() > 1) sum();
    tables_.sum();
  }

 private:
  void sum() {
    ProfilingRegion const region("trireme::sum_devices");
    space_.fence(tool_label("trireme: gradients complete before other devices read them"));
    std::vector<T*> const arenas = group_->allgather(gradients_);
    std::size_t const own = group_->rank(), devices = group_->size();
    // A device writes its own share alone, which no other reads until it is complete.
    for (std::size_t device = 0, place = 0; device < devices; ++device) {
      if (device == own) continue;
      for (std::size_t at = place++ * stride_; BucketRange const& piece : shares_[own]) {
        copy(received_.data() + at, arenas[device] + piece.begin, piece.end - piece.begin);
        at += piece.end - piece.begin;
      }
    }
    for (std::size_t at = 0; BucketRange const& piece : shares_[own]) {
      std::size_t const count = piece.end - piece.begin;
      kernels::SumDevices<T> const kernel{gradients_ + piece.begin, received_.data() + at, stride_, own, devices};
      detail::LaunchTurn const turn;
      Kokkos::parallel_for(tool_label("trireme::sum_devices"),
                           Kokkos::RangePolicy<Space, Kokkos::IndexType<std::size_t>>(space_, 0, count), kernel);
      at += count;
    }
    space_.fence(tool_label("trireme: sums complete before other devices read them"));
    group_->barrier();
    for (std::size_t device = 0; device < devices; ++device) {
      if (device == own) continue;
      for (BucketRange const& piece : shares_[device])
        copy(gradients_ + piece.begin, arenas[device] + piece.begin, piece.end - piece.begin);
    }
    space_.fence(tool_label("trireme: sums read before other devices overwrite them"));
    group_->barrier();
  }

  void copy(T* to, T const* from, std::size_t count) const {
    copy_view(space_, space_view<Space>(to, count), space_view<Space>(from, count));
  }

  ThreadGroup const* group_;
  Space space_;
  Tables tables_;
  std::vector<std::vector<BucketRange>> shares_;  ///< of each device, outside of tables with sparse gradients
  std::size_t stride_ = 0;
  Arena<T, Space> received_;
  T* gradients_ = nullptr;
};

}  // namespace trireme
