/// Definitions of trireme/strategies/engine/cross_replica_sum.hpp.
#pragma once

#include "trireme/strategies/engine/cross_replica_sum.hpp"

#include <algorithm>
#include <cstddef>
#include <span>
#include <thread>
#include <vector>

#include "trireme/backend/execution/parallelism.hpp"
#include "trireme/backend/execution/statistics_scope.hpp"
#include "trireme/backend/threads/thread_barrier.hpp"
#include "trireme/core/linkage.hpp"
#include "trireme/strategies/engine/process_sum.hpp"

namespace trireme {

TRIREME_INLINE void CrossReplicaSum::begin(ProcessSum const* processes) {
  processes_ = processes && processes->is_needed() ? processes : nullptr;
  main_ = std::this_thread::get_id();
}

TRIREME_INLINE void CrossReplicaSum::sum(std::size_t partition, ThreadBarrier& barrier, std::span<double> values,
                                         StatisticsScope scope) {
  std::size_t const per_replica = plan_.partitions / plan_.replicas;
  bool const global = scope == StatisticsScope::global;
  if (global ? plan_.partitions == 1 && !processes_ : per_replica == 1) return;
  given_[partition] = values.data();
  barrier();
  thread_local std::vector<double> own;
  if (global) {
    // Only the main thread may call MPI; without processes any thread will do.
    if (processes_ ? std::this_thread::get_id() == main_ : partition == 0) {
      if (processes_)
        processes_->sum_partitions(given_, values.size(), total_);
      else
        add({0, plan_.partitions}, values.size(), total_);
    }
  } else {
    std::size_t const first = partition / per_replica * per_replica;
    add({first, first + per_replica}, values.size(), own);
  }
  barrier();
  std::copy_n((global ? total_ : own).begin(), values.size(), values.begin());
}

TRIREME_INLINE void CrossReplicaSum::sum(std::span<double> values, StatisticsScope scope) const {
  if (scope == StatisticsScope::global && processes_) processes_->allreduce_sum(values);
}

TRIREME_INLINE void CrossReplicaSum::add(RowRange const& partitions, std::size_t count,
                                         std::vector<double>& sums) const {
  sums.assign(count, 0.0);
  for (std::size_t partition = partitions.begin; partition < partitions.end; ++partition)
    for (std::size_t i = 0; i < count; ++i) sums[i] += given_[partition][i];
}

TRIREME_INLINE void PartitionSum::sum(double* values, std::size_t count, StatisticsScope scope) {
  sum_.sum(partition_, barrier_, {values, count}, scope);
}

}  // namespace trireme
