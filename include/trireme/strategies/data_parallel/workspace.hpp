/// Workspace bytes of a process's batches: a constant expression where the model's extents are static.
#pragma once

#include <algorithm>
#include <cstddef>

#include "trireme/backend/execution/parallelism.hpp"
#include "trireme/backend/execution/space_context.hpp"
#include "trireme/backend/execution/thread_context.hpp"
#include "trireme/models/cost.hpp"

namespace trireme {

/// Rows that a used partition has room for, if the process has seen batches of `rows`. A smaller batch may give it one
/// row more than this one does, or many more: one below `fine_rows` is divided among half of the partitions.
constexpr std::size_t partition_capacity(PartitionPlan const& plan, std::size_t partition, std::size_t rows) {
  std::size_t most = partition_rows(plan, partition, rows).size();
  if (plan.fine_rows > 0 && rows >= plan.fine_rows)
    most = std::max(most, partition_rows(plan, partition, plan.fine_rows - 1).size());
  return most + 2;
}

/// Rows that partition 0 has room for when it takes a batch as a whole (`PartitionPlan::whole_rows`).
constexpr std::size_t whole_capacity(PartitionPlan const& plan, std::size_t rows) {
  return std::min(plan.whole_rows, rows);
}

/// Bytes of the workspaces of all partitions, by the plan of `plan_model`; or by that of `plan_partitions`, which has
/// neither `whole_rows` nor `fine_rows`.
///
///     constexpr PartitionPlan two_threads = plan_partitions(Parallelism::samples, 1, 2, cost.arena_bytes, true);
///     constexpr std::size_t workspace(PartitionPlan const& plan, std::size_t rows) {
///       return workspace_bytes<float, SparseCategoricalCrossentropy, Kokkos::DefaultHostExecutionSpace>(digits, plan,
///                                                                                                       rows);
///     }
template <class T, class Loss, class Space, class Architecture>
constexpr std::size_t workspace_bytes(Architecture const& architecture, PartitionPlan const& plan, std::size_t rows) {
  auto const part = detail::trained_part<Loss>(architecture);
  constexpr bool on_logits = detail::takes_logits<Loss, Architecture>();
  std::size_t bytes = 0;
  for (std::size_t partition = 0; partition < used_partitions(plan, rows); ++partition) {
    std::size_t const most = partition_capacity(plan, partition, rows);
    std::size_t own = plan.by_samples ? detail::step_workspace<T, ThreadContext, on_logits>(part, most)
                                      : detail::step_workspace<T, SpaceContext<Space>, on_logits>(part, most);
    if (partition == 0 && plan.whole_rows > 0)
      own = std::max(own, detail::step_workspace<T, SpaceContext<Space>, on_logits>(part, whole_capacity(plan, rows)));
    bytes += own;
  }
  return bytes;
}

}  // namespace trireme
