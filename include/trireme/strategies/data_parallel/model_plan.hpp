/// Which plan a model runs by.
#pragma once

#include <cstddef>

#include "trireme/backend/execution/plan.hpp"
#include "trireme/backend/execution/row_scope.hpp"
#include "trireme/core/error.hpp"
#include "trireme/core/text.hpp"
#include "trireme/models/description.hpp"

namespace trireme {

/// The plan for a model. One that adds up rows over the whole batch needs all lanes to run at once, so replicas that
/// would run in turn become one: to it they are all the same.
/// \throws ValueError if another of its layers adds up the rows of each replica.
inline LanePlan plan_model(ModelDescription const& model, Plan plan, std::size_t replicas, std::size_t concurrency,
                           std::size_t scalar_size, bool host) {
  LanePlan const lanes = plan_lanes(plan, replicas, concurrency, model.elements * scalar_size, host);
  bool const in_turn = lanes.lanes > lanes.threads;
  if (model.row_scope != RowScope::global || !in_turn) return lanes;
  if (model.mixes_replica)
    throw ValueError(formatted(
        "a model with statistics over the batch beside statistics over each replica cannot run {} replicas in turn on "
        "{} threads; take no more replicas than threads, or one kind of BatchNormalization",
        replicas, concurrency));
  return plan_lanes(plan, 1, concurrency, model.elements * scalar_size, host);
}

}  // namespace trireme
