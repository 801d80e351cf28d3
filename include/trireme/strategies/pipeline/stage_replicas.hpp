/// StageReplicas: the processes that hold one stage, each in a pipeline of its own.
#pragma once

#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

#include "trireme/backend/execution/views.hpp"
#include "trireme/core/error.hpp"
#include "trireme/core/hash.hpp"
#include "trireme/core/text.hpp"
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

  /// Throws on all processes if the weights of a stage are not bitwise the same in all pipelines; any NaN is as
  /// another. Collective. \param parts  those of this process's engine
  template <class Parts>
  void verify(Parts const& parts, std::size_t stage, std::size_t stages) const {
    bool const here = differ(to_host(parts.weights().snapshot()));
    std::size_t const first = parts.group().allreduce_min(here ? stage : stages).value();
    if (first == stages) return;
    raise_uniform(Error(formatted("the weights of stage {} are not the same in all pipelines after step {}", first,
                                  parts.optimizer().iteration())));
  }

 private:
  bool differ(std::vector<T> weights) const {
    auto const hash = data::hash_numbers(std::move(weights));
    return group_->allreduce_min(hash).value() != group_->allreduce_max(hash).value();
  }

  std::shared_ptr<Communicator const> group_;
  std::unique_ptr<GroupSum<Communicator>> rows_;
  std::size_t elements_;
  HostMirror<T, Space> mirror_;
};

}  // namespace trireme
