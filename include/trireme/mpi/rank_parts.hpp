/// RankParts: the division of an array over the ranks of a group.
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

namespace trireme {

/// Contiguous parts, one a rank and in rank order; possibly empty. It has to outlive the operations that use it, since
/// they read it until they end.
class RankParts {
 public:
  RankParts() = default;
  /// Parts of `counts[rank]` elements.
  explicit RankParts(std::vector<std::size_t> counts) : counts_(std::move(counts)) {
    std::size_t offset = 0;
    for (std::size_t const count : counts_) {
      offsets_.push_back(offset);
      mpi_counts_.push_back(static_cast<int>(count));
      mpi_offsets_.push_back(static_cast<int>(offset));
      offset += count;
    }
    total_ = offset;
  }

  /// Number of parts.
  std::size_t ranks() const { return counts_.size(); }
  /// Elements of all parts.
  std::size_t total() const { return total_; }
  /// Elements of one part.
  std::size_t count(std::size_t rank) const { return counts_[rank]; }
  /// Place of the first element of a part.
  std::size_t offset(std::size_t rank) const { return offsets_[rank]; }
  /// Counts as MPI takes them: valid only if the total fits into an int.
  int const* mpi_counts() const { return mpi_counts_.data(); }
  /// Offsets as MPI takes them: valid only if the total fits into an int.
  int const* mpi_offsets() const { return mpi_offsets_.data(); }

 private:
  std::vector<std::size_t> counts_, offsets_;
  std::vector<int> mpi_counts_, mpi_offsets_;
  std::size_t total_ = 0;
};

}  // namespace trireme
