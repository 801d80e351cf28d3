/// The PartitionPlan of a model.
#pragma once

#include <cstddef>

#include "trireme/backend/execution/parallelism.hpp"
#include "trireme/backend/execution/statistics_scope.hpp"
#include "trireme/core/error.hpp"
#include "trireme/core/text.hpp"
#include "trireme/models/description.hpp"

namespace trireme {

/// The plan for a model. A model that sums over rows of the whole batch needs all partitions to run at once, so
/// replicas that would run in turn become one: for such a model they are equivalent. \throws ValueError if another of
/// its layers sums over the rows of each replica.
inline PartitionPlan plan_model(ModelDescription const& model, Parallelism plan, std::size_t replicas,
                                std::size_t concurrency, std::size_t scalar_size, bool host) {
  PartitionPlan const partitions = plan_partitions(plan, replicas, concurrency, model.elements * scalar_size, host);
  bool const in_turn = partitions.partitions > partitions.threads;
  if (model.row_scope != StatisticsScope::global || !in_turn) return partitions;
  if (model.mixes_replica)
    throw ValueError(formatted(
        "a model with statistics over the batch beside statistics over each replica cannot run {} replicas in turn on "
        "{} threads; take no more replicas than threads, or one kind of BatchNormalization",
        replicas, concurrency));
  return plan_partitions(plan, 1, concurrency, model.elements * scalar_size, host);
}

}  // namespace trireme
