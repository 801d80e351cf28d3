/// The memory of a rank under ShardedStrategy, and its exchange with the other ranks.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "trireme/backend/execution/views.hpp"
#include "trireme/backend/threads/profiling.hpp"
#include "trireme/mpi/communicator.hpp"
#include "trireme/mpi/host_mirror.hpp"
#include "trireme/mpi/request.hpp"
#include "trireme/strategies/sharded/shard_layout.hpp"
#include "trireme/tensor/arena.hpp"

namespace trireme {

/// The weights of a SlicePass. Every member that takes a slice is collective: all ranks request the same slices in the
/// same order, with or without rows.
///
/// Stage 1: gradients of a slice are summed at their owners while those before it are computed. Stage 2: they are
/// written to one of two buffers, and the owners keep the sums. Stage 3: so are parameters, which are gathered while
/// the slice before (in backward: behind) is computed.
template <class T, class Space, std::size_t Stage>
class ShardedArenas {
 public:
  /// \param held  the elements that this rank holds: parameters according to the stage, then states.
  ShardedArenas(Communicator const& group, Space const& space, ShardLayout<T, Stage> layout, T* held,
                std::size_t states)
      : group_(&group),
        space_(space),
        layout_(std::move(layout)),
        sizes_(layout_.shard_sizes()),
        buffers_(slice_buffers(layout_.count())),
        held_(held),
        held_elements_(Stage == 3 ? shard() : layout_.elements()),
        gradients_(make_view<Memory>(space, "trireme::gradients", gradient_elements() + states)),
        held_mirror_(held, held_elements_),
        gradient_mirror_(gradients_.data(), gradients_.extent(0)),
        states_(states) {
    std::size_t const size = buffers_ * layout_.largest();
    if (Stage > 1) buckets_ = make_view<Memory>(space, "trireme::gradient_buffers", size);
    if (Stage == 3) gathered_ = make_view<Memory>(space, "trireme::parameter_buffers", size);
    bucket_mirror_ = {buckets_.data(), buckets_.extent(0)};
    gathered_mirror_ = {gathered_.data(), gathered_.extent(0)};
    in_buffer_.fill(nowhere);
  }

  /// Division of the arena over the ranks.
  ShardLayout<T, Stage> const& layout() const { return layout_; }
  /// The parameters that this rank's optimizer updates, and the sums of their gradients.
  T* own_parameters() { return held_ + (Stage == 3 ? 0 : sizes_.offset(group_->rank())); }
  /// Sums of the gradients of the parameters that this rank updates.
  T* own_gradients() { return gradients_.data() + (Stage == 1 ? sizes_.offset(group_->rank()) : 0); }

  T* states() { return held_ + held_elements_; }
  T const* frozen() const { return held_ + held_elements_ + states_; }
  /// The updates that the states move towards: each rank's share, and after `finish` the sum.
  T* updates() { return gradients_.data() + gradient_elements(); }

  /// Collectives that this process has begun; between passes the same on all.
  std::uint64_t begun() const { return begun_; }

  /// Waits for what a pass that an exception has ended left under way, whose memory the next one writes. Called
  /// before a step, which may clear memory before it comes to a slice; other passes begin with `forward`, which calls
  /// it.
  void complete_left() {
    reductions_.wait_all();
    updates_sum_.wait();
    for (auto* requests : {&gathering_, &reducing_})
      for (Request& request : *requests) request.wait();
    gathers_.fill(false);
    reduces_.fill(false);
  }

  T const* forward(std::size_t i) {
    if (i == 0) complete_left();
    if constexpr (Stage < 3) {
      settle();
      return held_ + layout_.slice(i).begin;
    } else {
      if (i == 0) in_buffer_.fill(nowhere);  // weights may have changed since
      return gathered(i, i + 1);
    }
  }

  T const* backward(std::size_t i) {
    if constexpr (Stage < 3)
      return held_ + layout_.slice(i).begin;
    else
      return gathered(i, i - 1);
  }

  /// Memory for the gradients of slice i, once the reduction that used it is complete.
  T* gradients(std::size_t i) {
    if (i + 1 == layout_.count() && states_ > 0) {
      gradient_mirror_.pull(space_, gradient_elements(), states_);
      ++begun_;
      updates_sum_ = group_->iallreduce_sum(gradient_mirror_.data() + gradient_elements(), states_);
    }
    if constexpr (Stage == 1) return gradients_.data() + layout_.slice(i).begin;
    finish_reduction(i % buffers_);
    return buckets_.data() + (i % buffers_) * layout_.largest();
  }

  /// The slice's gradients are complete: their sums go to their owners.
  void finished(std::size_t i) {
    if (layout_.slice(i).elements() == 0) return;
    ProfilingRegion const region("trireme::ShardedArenas::finished");
    ++begun_;
    if constexpr (Stage == 1) {
      gradient_mirror_.pull(space_, layout_.slice(i).begin, layout_.slice(i).elements());
      RankParts const& parts = layout_.parts(i);
      for (std::size_t rank = 0; rank < parts.ranks(); ++rank)
        if (parts.count(rank) > 0)
          reductions_.push(group_->ireduce_sum(gradient_mirror_.data() + layout_.slice(i).begin + parts.offset(rank),
                                               parts.count(rank), rank));
      reductions_.progress();
    } else {
      std::size_t const buffer = i % buffers_, begin = buffer * layout_.largest();
      bucket_mirror_.pull(space_, begin, layout_.slice(i).elements());
      reduces_[buffer] = true;
      reducing_[buffer] = group_->ireduce_scatter_sum<T>(
          bucket_mirror_.data() + begin, gradient_mirror_.data() + layout_.own(i).local, layout_.parts(i));
      reduced_[buffer] = i;
      for (Request& request : gathering_) request.test();
    }
  }

  /// Waits until the sums of this rank's gradients have arrived.
  void finish() {
    ProfilingRegion const region("trireme::ShardedArenas::finish");
    if constexpr (Stage == 1) {
      reductions_.wait_all();
      gradient_mirror_.push(space_, sizes_.offset(group_->rank()), shard());
    } else {
      for (std::size_t buffer = 0; buffer < buffers_; ++buffer) finish_reduction(buffer);
    }
    updates_sum_.wait();
    gradient_mirror_.push(space_, gradient_elements(), states_);
  }

  /// Starts to send the owners' new parameters to the ranks that hold them.
  void spread() {
    if constexpr (Stage < 3) {
      std::size_t const begin = sizes_.offset(group_->rank());
      held_mirror_.pull(space_, begin, shard());
      spreads_ = true;
      ++begun_;
      spreading_ = group_->iallgather_parts<T>(held_mirror_.data() + begin, held_mirror_.data(), sizes_);
    }
  }
  /// Waits until they have arrived.
  void settle() {
    if (!std::exchange(spreads_, false)) return;
    spreading_.wait();
    held_mirror_.push(space_, 0, held_elements_);
  }

 private:
  using Memory = Arena<T, Space>;
  static constexpr std::size_t nowhere = static_cast<std::size_t>(-1);

  std::size_t shard() const { return sizes_.count(group_->rank()); }
  std::size_t gradient_elements() const { return Stage == 1 ? layout_.elements() : shard(); }

  /// The parameters of slice i; those of slice `next`, if it exists, are on their way when this returns.
  T const* gathered(std::size_t i, std::size_t next) {
    fetch(i);
    std::size_t const buffer = i % buffers_, begin = buffer * layout_.largest();
    if (std::exchange(gathers_[buffer], false)) {
      gathering_[buffer].wait();
      gathered_mirror_.push(space_, begin, layout_.slice(i).elements());
    }
    if (next < layout_.count()) fetch(next);
    return gathered_.data() + begin;
  }

  /// Starts to gather a slice into its buffer, unless it is there.
  void fetch(std::size_t i) {
    std::size_t const buffer = i % buffers_;
    if (in_buffer_[buffer] == i) return;
    in_buffer_[buffer] = i;
    if (layout_.slice(i).elements() == 0) return;
    ProfilingRegion const region("trireme::ShardedArenas::fetch");
    HeldRange const& own = layout_.own(i);
    held_mirror_.pull(space_, own.local, own.end - own.begin);  // also waits for kernels that still read the buffer
    gathers_[buffer] = true;
    ++begun_;
    gathering_[buffer] = group_->iallgather_parts<T>(
        held_mirror_.data() + own.local, gathered_mirror_.data() + buffer * layout_.largest(), layout_.parts(i));
  }

  void finish_reduction(std::size_t buffer) {
    if (!std::exchange(reduces_[buffer], false)) return;
    reducing_[buffer].wait();
    HeldRange const& own = layout_.own(reduced_[buffer]);
    gradient_mirror_.push(space_, own.local, own.end - own.begin);
  }

  Communicator const* group_;
  Space space_;
  ShardLayout<T, Stage> layout_;
  RankParts sizes_;
  std::size_t buffers_;
  T* held_;
  std::size_t held_elements_;
  Memory gradients_, buckets_, gathered_;
  HostMirror<T, Space> held_mirror_, gradient_mirror_, bucket_mirror_, gathered_mirror_;
  std::size_t states_;
  std::array<std::size_t, 2> in_buffer_{}, reduced_{};
  Requests reductions_;
  std::array<Request, 2> gathering_, reducing_;
  Request updates_sum_, spreading_;
  /// Data that arrive on the host and have yet to be copied to the device: a request that is complete does not tell.
  std::array<bool, 2> gathers_{}, reduces_{};
  bool spreads_ = false;
  std::uint64_t begun_ = 0;
};

}  // namespace trireme
