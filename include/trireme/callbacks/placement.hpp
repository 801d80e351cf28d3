/// Placement: whether a saved run goes on only where the bits of its results stay the same.
#pragma once

namespace trireme {

/// `same`: with as many processes, replicas and threads as saved the run, so that it ends with the same bits. `any`:
/// with others too; results then agree as far as the strategy's sums do, mostly to rounding.
enum class Placement { same, any };

}  // namespace trireme
