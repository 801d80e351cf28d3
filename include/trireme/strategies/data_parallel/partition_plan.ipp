/// Definitions of trireme/strategies/data_parallel/partition_plan.hpp.
#pragma once

#include "trireme/strategies/data_parallel/partition_plan.hpp"

#include <algorithm>
#include <cstddef>
#include <string>

#include "trireme/backend/execution/parallelism.hpp"
#include "trireme/backend/execution/statistics_scope.hpp"
#include "trireme/backend/threads/thread_pool.hpp"
#include "trireme/core/error.hpp"
#include "trireme/core/linkage.hpp"
#include "trireme/core/text.hpp"
#include "trireme/models/description.hpp"

namespace trireme {

TRIREME_INLINE std::size_t rows_for_owned_weights(ModelDescription const& model) {
  std::size_t flops = 0, of_weights_used_often = 0;
  for (LayerInfo const& layer : model.layers) {
    flops += layer.flops;
    if (layer.flops > 3 * layer.parameters) of_weights_used_often += layer.flops;
  }
  bool const has_tables = std::ranges::any_of(model.parameters, &ParameterInfo::by_rows);
  bool const uses_once = model.elements <= flops && flops <= 3 * model.elements && 16 * of_weights_used_often <= flops;
  if (model.elements < least_owned_weights || !uses_once || has_tables || model.row_scope != StatisticsScope::none)
    return 0;
  std::size_t rows = model.elements, elements = 0;
  for (ParameterInfo const& p : model.parameters) {
    if (p.shape.rank != 2 || p.size < least_owned_weights / 2) continue;
    elements += p.size;
    rows = std::min(rows, p.shape.extents[0] / 4);
  }
  return 4 * elements >= 3 * model.elements ? rows : 0;
}

TRIREME_INLINE std::size_t rows_for_fine_partitions(ModelDescription const& model, PartitionPlan const& plan,
                                                    std::size_t scalar_size) {
  std::size_t const flops = model.flops();
  if (!plan.by_samples || plan.threads == 1 || flops == 0 || model.row_scope != StatisticsScope::none) return 0;
  if (model.elements * scalar_size > samples_parallelism_limit || 2 * plan.partitions > ThreadPool::most_tasks)
    return 0;
  std::size_t const worth = std::max(flops_of_fine_partition, flops_of_element * model.elements);
  std::size_t const rows = 2 * plan.partitions * ((worth + flops - 1) / flops);
  return rows <= most_fine_rows * plan.partitions ? rows : 0;
}

TRIREME_INLINE PartitionPlan plan_model(ModelDescription const& model, Parallelism plan, std::size_t replicas,
                                        std::size_t concurrency, std::size_t scalar_size, bool host) {
  PartitionPlan partitions = plan_partitions(plan, replicas, concurrency, model.elements * scalar_size, host);
  if (plan == Parallelism::automatic && partitions.by_samples && replicas == 1 && partitions.threads > 1)
    partitions.whole_rows = rows_for_owned_weights(model);
  bool const in_turn = partitions.partitions > partitions.threads;
  if (!in_turn) {
    partitions.fine_rows = rows_for_fine_partitions(model, partitions, scalar_size);
    if (partitions.fine_rows > 0) partitions.partitions *= 2;
  }
  if (model.row_scope != StatisticsScope::global || !in_turn) return partitions;
  if (model.mixes_replica)
    throw ValueError(formatted(
        "a model with statistics over the batch beside statistics over each replica cannot run {} replicas in turn on "
        "{} threads; take no more replicas than threads, or one kind of BatchNormalization",
        replicas, concurrency));
  return plan_partitions(plan, 1, concurrency, model.elements * scalar_size, host);
}

TRIREME_INLINE std::string placement_text(PartitionPlan const& plan, std::size_t size, char const* members, int threads,
                                          char const* space) {
  return formatted(
      "{} {} with {} threads of {}, {} replicas in {} partitions by {}{}{}", size, members, threads, space,
      plan.replicas, used_partitions(plan, 0), plan.by_samples ? "samples" : "intra_op",
      plan.whole_rows > 0 ? formatted(" from {} rows on", plan.whole_rows + 1) : std::string(),
      plan.fine_rows > 0 ? formatted(", in {} from {} rows on", plan.partitions, plan.fine_rows) : std::string());
}

}  // namespace trireme
