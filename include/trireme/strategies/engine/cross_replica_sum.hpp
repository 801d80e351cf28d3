/// CrossReplicaSum: sums of rows over the partitions of a process, in order: within a replica, or, for the whole
/// batch, over all of them and then over the processes.
#pragma once

#include <cstddef>
#include <span>
#include <thread>
#include <vector>

#include "trireme/backend/execution/parallelism.hpp"
#include "trireme/backend/execution/statistics_scope.hpp"
#include "trireme/backend/threads/thread_barrier.hpp"
#include "trireme/strategies/engine/process_sum.hpp"

namespace trireme {

/// As StatisticsSum those of the whole space, if it runs one partition at a time.
class CrossReplicaSum final : public StatisticsSum {
 public:
  /// Sums over the partitions of a plan.
  explicit CrossReplicaSum(PartitionPlan const& plan) : plan_(plan), given_(plan.partitions) {}

  /// Called before the partitions of a step start. \param processes null: no others.
  void begin(ProcessSum const* processes);

  /// All partitions call this at once, each on its own thread.
  void sum(std::size_t partition, ThreadBarrier& barrier, std::span<double> values, StatisticsScope scope);

  /// The same if the whole space runs one partition at a time.
  void sum(std::span<double> values, StatisticsScope scope) const;
  void sum(double* values, std::size_t count, StatisticsScope scope) override { sum(std::span(values, count), scope); }

 private:
  /// Adds up the partitions' values in order.
  void add(RowRange const& partitions, std::size_t count, std::vector<double>& sums) const;

  PartitionPlan plan_;
  std::vector<double const*> given_;
  std::vector<double> total_;
  ProcessSum const* processes_ = nullptr;
  std::thread::id main_;
};

/// A partition's sums under parallelism over samples.
class PartitionSum final : public StatisticsSum {
 public:
  /// Sums of one partition, whose thread meets the others at the barrier.
  PartitionSum(CrossReplicaSum& sum, std::size_t partition, ThreadBarrier& barrier)
      : sum_(sum), partition_(partition), barrier_(barrier) {}
  void sum(double* values, std::size_t count, StatisticsScope scope) override;

 private:
  CrossReplicaSum& sum_;
  std::size_t partition_;
  ThreadBarrier& barrier_;
};

/// The sums of the kernels of a context while this object lives: they have none after an exception either.
template <class Context>
class ContextSum {
 public:
  /// `sum` for kernels of `context`.
  ContextSum(Context& context, CrossReplicaSum& sum) : context_(context) { context_.set_exchange(&sum); }
  ContextSum(ContextSum const&) = delete;
  ContextSum& operator=(ContextSum const&) = delete;
  ~ContextSum() { context_.set_exchange(nullptr); }

 private:
  Context& context_;
};

}  // namespace trireme

#ifndef TRIREME_COMPILED
#include "trireme/strategies/engine/cross_replica_sum.ipp"
#endif
