/// Parallelism within a process: the division of a batch among replicas and threads.
#pragma once

#include <algorithm>
#include <cstddef>

namespace trireme {

/// Work that the threads of a host space divide. `samples`: the batch, into as many partitions as there are threads,
/// each of which one thread takes through all layers. `intra_op`: each matrix product and kernel. `automatic`: samples
/// while the parameters fit a core's cache.
enum class Parallelism { automatic, samples, intra_op };

/// Beyond this many bytes of parameters a gradient arena for each thread costs more than it brings.
inline constexpr std::size_t samples_parallelism_limit = std::size_t{4} << 20;

/// What was chosen: `partitions` slices of the batch, each with a gradient arena of its own, run by `threads` threads
/// at once (1: in turn, each by the whole space).
struct PartitionPlan {
  std::size_t replicas = 1;
  std::size_t partitions = 1;
  std::size_t threads = 1;
  bool by_samples = false;
  std::size_t shards = 0;  ///< if not 0: the global batch has so many, and each partition has one of them
};

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

/// The rows [begin, end) of `rows` that part `index` of `count` has: as even as can be, possibly none.
struct RowRange {
  std::size_t begin, end;
};
constexpr RowRange row_range(std::size_t rows, std::size_t index, std::size_t count) {
  return {rows * index / count, rows * (index + 1) / count};
}

/// The rows of a partition: replicas share the batch evenly, and partitions the rows of their replica.
constexpr RowRange partition_rows(PartitionPlan const& plan, std::size_t partition, std::size_t rows) {
  std::size_t const per_replica = plan.partitions / plan.replicas;
  RowRange const replica = row_range(rows, partition / per_replica, plan.replicas);
  // The last part is the largest. It is the first partition's, to whose gradients those of the others are added: so
  // that a batch of fewer rows than partitions leaves some of the others out, and not that one.
  std::size_t const index = per_replica - 1 - partition % per_replica;
  RowRange const part = row_range(replica.end - replica.begin, index, per_replica);
  return {replica.begin + part.begin, replica.begin + part.end};
}

}  // namespace trireme
