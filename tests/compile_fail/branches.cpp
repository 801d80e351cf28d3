// expect summands: trireme: Add needs branches with the same output extents
// expect residual: trireme: Add needs branches with the same output extents
// expect ranks: trireme: Concatenate needs branches of the same rank
// expect inner_axes: trireme: Concatenate needs branches whose output extents differ in the last axis only
// expect sum_of_tuples: trireme: a branch of Add, Residual or Concatenate hands on a tuple, and they join tensors
// expect tuple_beside_tensor: trireme: a branch of Add, Residual or Concatenate hands on a tuple, and they join tensors
// expect joined_tuples: trireme: a branch of Add, Residual or Concatenate hands on a tuple, and they join tensors
#include "trireme/models/branches.hpp"
#include "trireme/layers/dense.hpp"
#include "trireme/layers/flatten.hpp"
#include "trireme/models/description.hpp"
#include "trireme/models/each.hpp"
#include "trireme/models/sequential.hpp"
#include "trireme/models/tuples.hpp"

using namespace trireme;

void make() {
#if defined(misuse_summands)
  Sequential const model{Input<5>{}, Add{Dense<3>{}, Dense<4>{}}};
#elif defined(misuse_residual)
  Sequential const model{Input<5>{}, Residual{Dense<dynamic>{.units = 5}, Dense<4>{}}};
#elif defined(misuse_ranks)
  Sequential const model{Input<4>{}, Concatenate{Dense<3>{}, Reshape<2, 2>{}}};
#elif defined(misuse_inner_axes)
  Sequential const model{Input<6>{}, Concatenate{Reshape<3, 2>{}, Reshape<2, 3>{}}};
#elif defined(misuse_sum_of_tuples)
  Sequential const model{Inputs{Input<5>{}, Input<5>{}}, Residual{Each{Dense<5>{}}}};
#elif defined(misuse_tuple_beside_tensor)
  Sequential const model{Input<5>{}, Add{Dense<3>{}, Fork{Dense<3>{}, Dense<3>{}}}};
#elif defined(misuse_joined_tuples)
  Sequential const model{Input<5>{}, Concatenate{Fork{Dense<3>{}, Skip{}}, Fork{Dense<3>{}, Skip{}}}};
#else
  Sequential const model{Inputs{Input<5>{}, Input<5>{}}, Each{Residual{Dense<dynamic>{.units = 5}}}, Add{}};
#endif
  static_cast<void>(describe<float>(model));
}
