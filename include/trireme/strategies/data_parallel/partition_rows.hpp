/// PartitionRows: the rows of a process's batch that each partition takes.
#pragma once

#include <cstddef>

#include "trireme/backend/execution/parallelism.hpp"
#include "trireme/core/row_range.hpp"

namespace trireme {

/// Division of batches by a plan: evenly, or at the boundaries of shards of the global batch.
class PartitionRows {
 public:
  /// The division of no batch yet, if by shards.
  explicit PartitionRows(PartitionPlan const& plan) : plan_(plan) {}

  /// Sets, for a plan of shards, the shard of partition 0 in the next batches, of so many rows over all processes.
  void set_shards(std::size_t first, std::size_t global_rows) {
    first_shard_ = first;
    global_rows_ = global_rows;
  }

  /// Rows of a partition, of `rows` rows of this process.
  RowRange operator()(std::size_t partition, std::size_t rows) const {
    if (plan_.shards == 0) return partition_rows(plan_, partition, rows);
    std::size_t const own = begin_of(first_shard_);
    return {begin_of(first_shard_ + partition) - own, begin_of(first_shard_ + partition + 1) - own};
  }

 private:
  std::size_t begin_of(std::size_t shard) const { return row_range(global_rows_, shard, plan_.shards).begin; }

  PartitionPlan plan_;
  std::size_t first_shard_ = 0, global_rows_ = 0;
};

}  // namespace trireme
