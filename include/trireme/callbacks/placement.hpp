/// Placement: the condition under which a saved run can be resumed.
#pragma once

namespace trireme {

/// Condition for resuming a run. `same`: with as many processes, replicas and threads as saved it, so that it ends with
/// the same bits. `any`: with other numbers too; results then agree as far as the strategy's sums do, mostly to
/// rounding.
enum class Placement { same, any };

}  // namespace trireme
