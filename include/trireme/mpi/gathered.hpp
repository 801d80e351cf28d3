/// Gathered: the parts of several processes, one after the other.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace trireme {

template <class T>
class Gathered {
 public:
  Gathered() = default;
  /// Room for `counts[rank]` values of each rank.
  explicit Gathered(std::vector<std::size_t> const& counts) : offsets_(counts.size() + 1, 0) {
    for (std::size_t i = 0; i < counts.size(); ++i) offsets_[i + 1] = offsets_[i] + counts[i];
    values_.resize(offsets_.back());
  }

  /// All values, in the order of ranks.
  std::vector<T> const& values() const { return values_; }
  std::vector<T>& values() { return values_; }

  /// Number of processes that contributed a part, empty ones included.
  std::size_t parts() const { return offsets_.size() - 1; }
  /// Place of the first value of a rank among all values.
  std::size_t offset(std::size_t rank) const { return offsets_[rank]; }
  /// Values of one rank.
  std::span<T const> part(std::size_t rank) const {
    return {values_.data() + offsets_[rank], offsets_[rank + 1] - offsets_[rank]};
  }
  std::span<T> part(std::size_t rank) { return {values_.data() + offsets_[rank], offsets_[rank + 1] - offsets_[rank]}; }

 private:
  std::vector<T> values_;
  std::vector<std::size_t> offsets_ = {0};
};

}  // namespace trireme
