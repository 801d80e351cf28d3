/// Definitions of trireme/mpi/thread_group.hpp.
#pragma once

#include "trireme/mpi/thread_group.hpp"

#include "trireme/core/linkage.hpp"
#include "trireme/mpi/uniform.hpp"

namespace trireme {

TRIREME_INLINE Uniform<bool> ThreadGroup::allreduce_or(bool value) const {
  return reduced(value, [](bool a, bool b) { return a || b; });
}

TRIREME_INLINE Uniform<bool> ThreadGroup::allreduce_and(bool value) const {
  return reduced(value, [](bool a, bool b) { return a && b; });
}

}  // namespace trireme
