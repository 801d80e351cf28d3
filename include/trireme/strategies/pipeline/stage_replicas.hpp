/// StageReplicas: the processes that hold one stage, each in a pipeline of its own.
#pragma once

#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

#include "trireme/core/hash.hpp"
#include "trireme/mpi/communicator.hpp"
#include "trireme/mpi/host_mirror.hpp"
#include "trireme/strategies/engine/process_sum.hpp"

namespace trireme {

/// The processes that hold the same stage in several pipelines: they add up gradients and updates of states.
template <class T, class Space>
class StageReplicas {
 public:
  /// `sums`: the gradients and the states' updates of this pipeline, `elements` numbers.
  StageReplicas(std::shared_ptr<Communicator const> group, T* sums, std::size_t elements)
      : group_(std::move(group)),
        rows_(std::make_unique<GroupSum<Communicator>>(*group_)),
        elements_(elements),
        mirror_(sums, elements) {}

  /// Index of this pipeline.
  std::size_t rank() const { return group_->rank(); }
  /// Number of pipelines.
  std::size_t size() const { return group_->size(); }
  /// The pipelines share the rows of a batch.
  ProcessSum const* rows() const { return rows_.get(); }

  /// The sums become those over all pipelines. Collective.
  void add_up(Space const& space) {
    if (size() == 1) return;
    mirror_.pull(space, 0, elements_);
    group_->iallreduce_sum(mirror_.data(), elements_).wait();
    mirror_.push(space, 0, elements_);
  }

  /// True if the stage's weights are not bitwise the same in all pipelines; any NaN is as another. Collective.
  bool differ(std::vector<T> weights) const {
    auto const hash = data::hash_numbers(std::move(weights));
    return group_->allreduce_min(hash).value() != group_->allreduce_max(hash).value();
  }

 private:
  std::shared_ptr<Communicator const> group_;
  std::unique_ptr<GroupSum<Communicator>> rows_;
  std::size_t elements_;
  HostMirror<T, Space> mirror_;
};

}  // namespace trireme
