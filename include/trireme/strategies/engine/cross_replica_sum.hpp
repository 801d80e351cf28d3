/// CrossReplicaSum: sums of rows over the partitions of a process, in order: within a replica, or, for the whole
/// batch, over all of them and then over the processes.
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <thread>
#include <vector>

#include "trireme/backend/execution/parallelism.hpp"
#include "trireme/backend/execution/statistics_scope.hpp"
#include "trireme/backend/threads/thread_meeting.hpp"
#include "trireme/strategies/engine/process_sum.hpp"

namespace trireme {

class CrossReplicaSum {
 public:
  explicit CrossReplicaSum(PartitionPlan const& plan) : plan_(plan), given_(plan.partitions) {}

  /// Called before the partitions of a step start. \param processes null: no others.
  void begin(ProcessSum const* processes) {
    processes_ = processes && processes->is_needed() ? processes : nullptr;
    main_ = std::this_thread::get_id();
  }

  /// All partitions call this at once, each on its own thread.
  void sum(std::size_t partition, ThreadMeeting& barrier, std::span<double> values, StatisticsScope scope) {
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

  /// The same if the whole space runs one partition at a time.
  void sum(std::span<double> values, StatisticsScope scope) const {
    if (scope == StatisticsScope::global && processes_) processes_->allreduce_sum(values);
  }

 private:
  /// Adds up the partitions' values in order.
  void add(RowRange const& partitions, std::size_t count, std::vector<double>& sums) const {
    sums.assign(count, 0.0);
    for (std::size_t partition = partitions.begin; partition < partitions.end; ++partition)
      for (std::size_t i = 0; i < count; ++i) sums[i] += given_[partition][i];
  }

  PartitionPlan plan_;
  std::vector<double const*> given_;
  std::vector<double> total_;
  ProcessSum const* processes_ = nullptr;
  std::thread::id main_;
};

/// A partition's sums under parallelism over samples.
class PartitionSum final : public StatisticsSum {
 public:
  PartitionSum(CrossReplicaSum& meeting, std::size_t partition, ThreadMeeting& barrier)
      : meeting_(meeting), lane_(partition), barrier_(barrier) {}
  void sum(double* values, std::size_t count, StatisticsScope scope) override {
    meeting_.sum(lane_, barrier_, {values, count}, scope);
  }

 private:
  CrossReplicaSum& meeting_;
  std::size_t lane_;
  ThreadMeeting& barrier_;
};

/// The same under parallelism within operators.
class SpaceSum final : public StatisticsSum {
 public:
  explicit SpaceSum(CrossReplicaSum const& meeting) : meeting_(meeting) {}
  void sum(double* values, std::size_t count, StatisticsScope scope) override { meeting_.sum({values, count}, scope); }

 private:
  CrossReplicaSum const& meeting_;
};

}  // namespace trireme
