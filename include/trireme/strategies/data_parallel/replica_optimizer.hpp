/// ReplicaOptimizer: the optimizer of a replica; it steps after backward, within it, or for a range of the weights.
#pragma once

#include <algorithm>
#include <cstddef>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "trireme/backend/execution/space_context.hpp"
#include "trireme/backend/execution/thread_context.hpp"
#include "trireme/backend/execution/views.hpp"
#include "trireme/core/row_range.hpp"
#include "trireme/strategies/data_parallel/update_in_backward.hpp"
#include "trireme/strategies/data_parallel/update_range.hpp"
#include "trireme/strategies/engine/optimizer_update.hpp"
#include "trireme/strategies/gradients/bucket_range.hpp"

namespace trireme {

/// Optimizer of a process that holds the whole model, and its state: that of all weights, or of the range that is the
/// process's own where ranks divide the update.
template <class T, class Optimizer, class Space>
class ReplicaOptimizer : public Updater<T, Optimizer, SpaceContext<Space>> {
  using Base = Updater<T, Optimizer, SpaceContext<Space>>;

 public:
  using Base::Base;

  /// The step `next` in the pass train(sink, range) over so many rows, of which the arena's first `trained` elements
  /// train. Under parallelism over samples the threads that sum the gradients apply it to their ranges; under
  /// parallelism within operators backward does.
  template <class Partitions, class Next, class Train>
  void step_in_pass(Partitions& partitions, std::size_t rows, std::size_t trained, Next const& next,
                    Train const& train) {
    auto const update = [&](auto& context, std::size_t begin, std::size_t end, T const* gradients) {
      context.for_each("trireme::optimizer_step", end - begin, next.from(begin, gradients));
    };
    if (partitions.trains_by_samples(rows)) {
      auto const take = [&](ThreadContext const& context, std::size_t begin, std::size_t end, T const* gradients) {
        if (begin < trained) update(context, begin, std::min(end, trained), gradients);
      };
      train(nullptr, UpdateRange<T>(take));
    } else {
      UpdateInBackward updates(next, partitions.gradients(), trained, updated_);
      train(&updates, {});
      updates.for_each_left([&](std::size_t begin, std::size_t end) {
        update(partitions.context(), begin, end, partitions.gradients() + begin);
      });
    }
  }

  // The update that ranks divide.

  /// From now on this process updates the elements `own` of the weights, and keeps their part of the state.
  void divide(RowRange const& own) {
    own_ = own;
    this->keep(own);
  }
  /// The step for its own elements, from the gradients and operands of all ranks (DividedUpdate).
  template <class Partitions, class Ranks>
  void step_range(Partitions& partitions, T* weights, Ranks const& ranks) {
    auto const next = this->next_step(weights, partitions.gradients());
    auto const update = [&](ThreadContext const& context, std::size_t begin, std::size_t end, T const* gradients) {
      context.for_each("trireme::optimizer_step", end - begin, next.from(begin, gradients));
    };
    partitions.update_range(*own_, ranks, UpdateRange<T>(update));
    this->count_step();
  }
  /// Elements of each slot that this process keeps, if not all.
  std::optional<std::size_t> own_elements() const {
    return own_ ? std::optional<std::size_t>(own_->size()) : std::nullopt;
  }

  // State.

  /// Sets a slot to the chief's values. Collective.
  template <class Group>
  void set_slot(Group const& group, std::size_t slot, std::span<T> values) {
    group.broadcast(values);
    if (own_) values = values.subspan(own_->begin, own_->size());
    copy_view(this->slots()[slot], host_view(values));
  }
  /// Fills `state` on the chief. Collective; every process holds everything, so nothing is sent, unless updates are
  /// divided.
  template <class Group, class State>
  void gather(Group const& group, State& state) const {
    this->store(state);
    for (auto const& slot : this->slots()) {
      if (!own_ && !group.is_chief()) continue;
      auto values = to_host(slot);
      if (own_) values = std::move(group.gatherv(values, 0).values());
      if (group.is_chief()) state.slots.push_back(std::move(values));
    }
  }

 private:
  std::optional<RowRange> own_{};     ///< elements that this process updates, if not all
  std::vector<BucketRange> updated_;  ///< elements that backward has updated
};

}  // namespace trireme
