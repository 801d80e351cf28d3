/// Parallelism within a process: the division of a batch among replicas and threads.
#pragma once

#include <algorithm>
#include <cstddef>

#include "trireme/core/row_range.hpp"

namespace trireme {

/// Division of work among the threads of a host space. `samples`: the batch, into as many partitions as there are
/// threads; one thread takes each through all layers. `intra_op`: each matrix product and kernel, so that where rows
/// are few each thread has rows of the weights of its own. `automatic`: samples while the parameters fit a core's
/// cache, but batches of few rows within operators if the model is mostly large matrices.
enum class Parallelism { automatic, samples, intra_op };

/// Bytes of parameters beyond which a gradient arena for each thread costs more than it gains.
inline constexpr std::size_t samples_parallelism_limit = std::size_t{4} << 20;

/// The chosen division: `partitions` slices of the batch, each with a gradient arena of its own, run by `threads`
/// threads at once (1: in turn, each by the whole space).
struct PartitionPlan {
  std::size_t replicas = 1;
  std::size_t partitions = 1;
  std::size_t threads = 1;
  bool by_samples = false;
  std::size_t shards = 0;  ///< if not 0: shards of the global batch, one for each partition
  /// Under the parallelism over samples: rows up to which training takes a process's batch as one partition, whose
  /// kernels the threads divide.
  std::size_t whole_rows = 0;
  /// Rows of a process's batch from which all partitions have rows; smaller batches are divided among the first half.
  /// 0: always all.
  std::size_t fine_rows = 0;
};

/// Number of partitions that have rows of a batch; these come first.
constexpr std::size_t used_partitions(PartitionPlan const& plan, std::size_t rows) {
  return rows < plan.fine_rows ? plan.partitions / 2 : plan.partitions;
}

/// The sums of partition `from` are added to those of partition `to`.
struct PartitionPair {
  std::size_t to, from;
};

/// Partitions are replicas, divided further while threads are left; sums run over partitions in order, so over
/// replicas in order.
constexpr PartitionPlan plan_partitions(Parallelism plan, std::size_t replicas, std::size_t concurrency,
                                        std::size_t parameter_bytes, bool host) {
  bool const rows = host && (plan == Parallelism::samples ||
                             (plan == Parallelism::automatic && parameter_bytes <= samples_parallelism_limit));
  if (!rows) return {replicas, replicas, 1, false};
  std::size_t const partitions_per_replica = std::max<std::size_t>(1, concurrency / replicas);
  std::size_t const partitions = replicas * partitions_per_replica;
  return {replicas, partitions, std::min(partitions, concurrency), true};
}

/// The rows of a partition: replicas share the batch evenly, and partitions the rows of their replica.
constexpr RowRange partition_rows(PartitionPlan const& plan, std::size_t partition, std::size_t rows) {
  std::size_t const used = used_partitions(plan, rows), per_replica = used / plan.replicas;
  if (partition >= used) return {rows, rows};
  RowRange const replica = row_range(rows, partition / per_replica, plan.replicas);
  // The first partition gets the last part, which is the largest, since the gradients of the others are added to its
  // own: a batch of fewer rows than partitions then leaves some of the others empty, not the first.
  std::size_t const index = per_replica - 1 - partition % per_replica;
  RowRange const part = row_range(replica.end - replica.begin, index, per_replica);
  return {replica.begin + part.begin, replica.begin + part.end};
}

}  // namespace trireme
