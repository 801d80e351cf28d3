/// The samples of each global batch that belong to each process, known to all without communication.
#pragma once

#include <algorithm>
#include <cstddef>
#include <limits>
#include <utility>
#include <vector>

#include "trireme/core/error.hpp"
#include "trireme/core/text.hpp"
#include "trireme/data/batch.hpp"

namespace trireme::data {

/// Samples that each process owns: how many every process has, and which of them this one is.
struct LocalSizes {
  std::vector<std::size_t> sizes;
  std::size_t index = 0;
  bool endless = false;  ///< these samples again and again, on all processes

  std::size_t total() const {
    std::size_t sum = 0;
    for (std::size_t size : sizes) sum += size;
    return sum;
  }
};

/// The rows of one global batch for one process.
struct BatchRows {
  std::size_t first_sample = 0;  ///< position of the process's first row among the samples that it reads
  std::size_t rows = 0;
  std::size_t first_row = 0;
  std::size_t global_rows = 0;
};

/// floor(a * b / c) without overflow in between.
inline std::size_t scaled(std::size_t a, std::size_t b, std::size_t c) {
  __extension__ using Wide = unsigned __int128;
  return static_cast<std::size_t>(static_cast<Wide>(a) * b / c);
}

/// One process's part of a batch of `global_rows` samples that every process could read: of the i-th of n processes
/// that draw, rows [B * i / n, B * (i + 1) / n), or those of the parts that the data shard names.
inline BatchRows even_rows(std::size_t global_rows, DataShard const& share) {
  if (!share.draws()) return {0, 0, 0, global_rows};
  std::size_t const own = share.index - share.first;
  DataShard::Parts const parts = share.parts.of != 0 ? share.parts : DataShard::Parts{own, own + 1, share.drawing()};
  std::size_t const first = scaled(global_rows, parts.begin, parts.of);
  std::size_t const last = scaled(global_rows, parts.end, parts.of);
  return {first, last - first, first, global_rows};
}

/// The division of a dataset into global batches, seen from one process. Its size is known, or it has no end.
class BatchPlan {
 public:
  /// Every process could read all `samples`; it takes its even part of each batch.
  BatchPlan(std::size_t samples, std::size_t batch, DataShard share, bool endless = false)
      : samples_(endless ? no_end : samples), batch_(batch), share_(checked(share)), endless_(endless) {
    batches_ = samples_ / batch + (samples_ % batch != 0);
  }

  /// Each process has samples of its own and gives each batch a part in proportion to them: of n_r of N samples,
  /// floor(n_r * min((k + 1) * B, N) / N) - floor(n_r * min(k * B, N) / N) to batch k. A batch may so have a few
  /// samples more or less than B; one that would have none is left out.
  /// \throws ValueError if the data shard is of another process than the samples, or if a process that draws none has
  /// some.
  BatchPlan(LocalSizes local, std::size_t batch, DataShard share)
      : BatchPlan(local.total(), batch, share, local.endless) {
    if (share.count != local.sizes.size() || share.index != local.index)
      throw ValueError(formatted("the data belong to process {} of {}, but this is process {} of {}", local.index,
                                 local.sizes.size(), share.index, share.count));
    if (share.parts.of != 0)
      throw ValueError(
          "data that each process owns cannot be cut into the same shards for any number of processes; VirtualReplicas "
          "takes data that all processes have");
    for (std::size_t i = 0; i < share.count; ++i)
      if (local.sizes[i] != 0 && !DataShard{i, share.count, 0, share.first, share.last}.draws())
        throw ValueError(formatted("process {} has {} samples of its own, but it draws none: they would be left out", i,
                                   local.sizes[i]));
    total_ = local.total();
    sizes_ = std::move(local.sizes);
    if (total_ == 0) return;
    std::size_t const largest = *std::max_element(sizes_.begin(), sizes_.end());
    if (scaled(largest, std::min(batch_, total_), total_) != 0) return;
    if (endless_)
      throw ValueError(formatted("a global batch of {} is too small for the own samples of {} processes without end",
                                 batch_, sizes_.size()));
    for (std::size_t k = 0; k < batches_; ++k)
      if (proportional(k).global_rows != 0) kept_.push_back(k);
    batches_ = kept_.size();
  }

  bool endless() const { return endless_; }

  /// True if each process has samples of its own.
  bool local() const { return !sizes_.empty(); }

  std::size_t batches() const { return batches_; }

  /// The most rows that a batch hands this process.
  std::size_t max_rows() const {
    std::size_t const full = std::min(batch_, samples_);
    if (full == 0) return 0;
    if (!share_.draws()) return 0;
    if (share_.parts.of != 0) return scaled(full, share_.parts.end - share_.parts.begin, share_.parts.of) + 1;
    if (sizes_.empty()) return full / share_.drawing() + (full % share_.drawing() != 0);
    std::size_t const mine = sizes_[share_.index];
    // floor(a + b) - floor(a) is at most floor(b) + 1
    return scaled(mine, full, total_) + (mine == 0 ? 0 : 1);
  }

  BatchRows operator()(std::size_t k) const {
    if (!sizes_.empty()) return proportional(kept_.empty() ? k : kept_[k]);
    std::size_t const first = k * batch_;
    BatchRows rows = even_rows(std::min(batch_, samples_ - first), share_);
    rows.first_sample += first;
    return rows;
  }

  static DataShard checked(DataShard share) {
    if (share.index >= share.count)
      throw ValueError(formatted("part {} of {} does not exist", share.index, share.count));
    return share;
  }

 private:
  BatchRows proportional(std::size_t k) const {
    std::size_t const from = std::min(k * batch_, samples_), to = std::min((k + 1) * batch_, samples_);
    BatchRows result;
    for (std::size_t rank = 0; rank < sizes_.size(); ++rank) {
      std::size_t const first = scaled(sizes_[rank], from, total_);
      std::size_t const rows = scaled(sizes_[rank], to, total_) - first;
      if (rank == share_.index) {
        result.first_sample = first;
        result.rows = rows;
        result.first_row = result.global_rows;
      }
      result.global_rows += rows;
    }
    return result;
  }

  static constexpr std::size_t no_end = std::numeric_limits<std::size_t>::max() / 4;

  std::size_t samples_;
  std::size_t batch_;
  DataShard share_;
  bool endless_;
  std::size_t batches_ = 0;
  std::size_t total_ = 0;           // own samples of all processes, in one pass
  std::vector<std::size_t> sizes_;  // of all processes, if each has its own samples
  std::vector<std::size_t> kept_;   // the batches that are not empty, if some are
};

}  // namespace trireme::data
