/// How many samples a batch has, over all processes or per replica.
#pragma once

#include <cstddef>

#include "trireme/data/batch.hpp"
#include "trireme/error.hpp"

namespace trireme {

/// `size` samples over all processes and replicas together.
struct GlobalBatch {
  std::size_t size;
};

/// `size` samples for each replica: the global batch grows with their number.
struct PerReplicaBatch {
  std::size_t size;
};

/// Either of the two.
class BatchSize {
 public:
  BatchSize(GlobalBatch batch) : size_(positive(batch.size)) {}
  BatchSize(PerReplicaBatch batch) : size_(positive(batch.size)), per_replica_(true) {}

  /// Samples of a full batch, over all processes.
  std::size_t global(Share const& share) const { return per_replica_ ? size_ * share.replica_count() : size_; }

  std::size_t size() const { return size_; }
  bool per_replica() const { return per_replica_; }

 private:
  static std::size_t positive(std::size_t size) {
    if (size == 0) throw ValueError("a batch of 0 samples: the batch size has to be at least 1");
    return size;
  }

  std::size_t size_;
  bool per_replica_ = false;
};

}  // namespace trireme
