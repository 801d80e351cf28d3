/// Batch sizes: samples over all processes, or per replica.
#pragma once

#include <cstddef>

#include "trireme/data/batch.hpp"
#include "trireme/data/count.hpp"

namespace trireme {

/// Batch size in samples over all processes and replicas together: `batch(GlobalBatch{32})`. At least 1.
struct GlobalBatch {
  std::size_t size;
};

/// Batch size in samples for each replica, at least 1: the global batch grows with their number.
struct PerReplicaBatch {
  std::size_t size;
};

/// Batch size in samples, global or per replica.
class BatchSize {
 public:
  /// \throws ValueError if it is 0, or more than 2^48.
  BatchSize(GlobalBatch batch) : size_(checked(batch.size)) {}
  /// \throws ValueError if it is 0, or more than 2^48.
  BatchSize(PerReplicaBatch batch) : size_(checked(batch.size)), per_replica_(true) {}

  /// Samples of a full batch, over all processes.
  std::size_t global(DataShard const& share) const { return per_replica_ ? size_ * share.replica_count() : size_; }

  /// Number as it was given, of samples in all or for each replica.
  std::size_t size() const { return size_; }
  /// True if the size is that of each replica.
  bool per_replica() const { return per_replica_; }

 private:
  static std::size_t checked(std::size_t size) { return data::Count(size).of("batch", "samples", 1); }

  std::size_t size_;
  bool per_replica_ = false;
};

}  // namespace trireme
