/// Definitions of trireme/mpi/thread_group.hpp.
#pragma once

#include "trireme/mpi/thread_group.hpp"

#include <atomic>
#include <cstdint>

#include "trireme/backend/threads/signal.hpp"
#include "trireme/core/linkage.hpp"
#include "trireme/mpi/uniform.hpp"

namespace trireme {

TRIREME_INLINE void detail::GroupBarrier::wait() {
  std::uint32_t const round = round_.load();
  if (ended_.load()) throw GroupEnded();
  if (arrived_.fetch_add(1, std::memory_order_acq_rel) + 1 == threads_) {
    arrived_.store(0, std::memory_order_relaxed);
    next_round();
  } else {
    round_.wait_while(round, patience_);
  }
  if (ended_.load()) throw GroupEnded();
}

TRIREME_INLINE Uniform<bool> ThreadGroup::allreduce_or(bool value) const {
  return reduced(value, [](bool a, bool b) { return a || b; });
}

TRIREME_INLINE Uniform<bool> ThreadGroup::allreduce_and(bool value) const {
  return reduced(value, [](bool a, bool b) { return a && b; });
}

}  // namespace trireme
