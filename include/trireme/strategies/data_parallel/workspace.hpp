/// How much workspace a process takes for its batches: a constant expression where the model's extents are static.
#pragma once

#include <cstddef>

#include "trireme/backend/execution/plan.hpp"
#include "trireme/backend/execution/space_context.hpp"
#include "trireme/backend/execution/thread_context.hpp"
#include "trireme/models/cost.hpp"

namespace trireme {

/// Rows that a lane has room for, where the process has seen batches of `rows`: uneven splits of smaller batches may
/// give it one row more than this one does.
constexpr std::size_t lane_capacity(LanePlan const& plan, std::size_t lane, std::size_t rows) {
  RowRange const range = lane_rows(plan, lane, rows);
  return range.end - range.begin + 2;
}

/// Bytes of the workspaces of all lanes.
///
///     constexpr LanePlan plan = plan_lanes(Plan::rows, 1, /*threads*/ 2, cost.arena_bytes, true);
///     constexpr std::size_t bytes =
///         workspace_bytes<float, SparseCategoricalCrossentropy, Kokkos::OpenMP>(architecture, plan, 32);
template <class T, class Loss, class Space, class Architecture>
constexpr std::size_t workspace_bytes(Architecture const& architecture, LanePlan const& plan, std::size_t rows) {
  auto const part = detail::trained_part<Loss>(architecture);
  constexpr bool on_logits = detail::takes_logits<Loss, Architecture>();
  std::size_t bytes = 0;
  for (std::size_t lane = 0; lane < plan.lanes; ++lane) {
    std::size_t const most = lane_capacity(plan, lane, rows);
    bytes += plan.rows ? detail::step_workspace<T, ThreadContext, on_logits>(part, most)
                       : detail::step_workspace<T, SpaceContext<Space>, on_logits>(part, most);
  }
  return bytes;
}

}  // namespace trireme
