/// Definitions of trireme/data/data_shard.hpp.
#pragma once

#include "trireme/data/data_shard.hpp"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "trireme/core/error.hpp"
#include "trireme/core/linkage.hpp"
#include "trireme/core/text.hpp"
#include "trireme/data/batch.hpp"

namespace trireme::data {

TRIREME_INLINE std::size_t LocalSizes::total() const {
  std::size_t sum = 0;
  for (std::size_t size : sizes) sum += size;
  return sum;
}

TRIREME_INLINE std::size_t scaled(std::size_t a, std::size_t b, std::size_t c) {
  __extension__ using Wide = unsigned __int128;
  return static_cast<std::size_t>(static_cast<Wide>(a) * b / c);
}

TRIREME_INLINE BatchRows even_rows(std::size_t global_rows, DataShard const& share) {
  if (!share.draws()) return {0, 0, 0, global_rows};
  std::size_t const own = share.index - share.first;
  DataShard::Parts const parts = share.parts.of != 0 ? share.parts : DataShard::Parts{own, own + 1, share.drawing()};
  std::size_t const first = scaled(global_rows, parts.begin, parts.of);
  std::size_t const last = scaled(global_rows, parts.end, parts.of);
  return {first, last - first, first, global_rows};
}

TRIREME_INLINE BatchPlan::BatchPlan(std::size_t samples, std::size_t batch, DataShard share, bool endless)
    : samples_(endless ? no_end : samples), batch_(batch), share_(checked(share)), endless_(endless) {
  batches_ = samples_ / batch + (samples_ % batch != 0);
}

TRIREME_INLINE BatchPlan::BatchPlan(LocalSizes local, std::size_t batch, DataShard share)
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

TRIREME_INLINE std::size_t BatchPlan::max_rows() const {
  std::size_t const full = std::min(batch_, samples_);
  if (full == 0) return 0;
  if (!share_.draws()) return 0;
  if (share_.parts.of != 0) return scaled(full, share_.parts.end - share_.parts.begin, share_.parts.of) + 1;
  if (sizes_.empty()) return full / share_.drawing() + (full % share_.drawing() != 0);
  std::size_t const mine = sizes_[share_.index];
  // floor(a + b) - floor(a) is at most floor(b) + 1
  return scaled(mine, full, total_) + (mine == 0 ? 0 : 1);
}

TRIREME_INLINE BatchRows BatchPlan::operator()(std::size_t k) const {
  if (!sizes_.empty()) return proportional(kept_.empty() ? k : kept_[k]);
  std::size_t const first = k * batch_;
  BatchRows rows = even_rows(std::min(batch_, samples_ - first), share_);
  rows.first_sample += first;
  return rows;
}

TRIREME_INLINE DataShard BatchPlan::checked(DataShard share) {
  if (share.index >= share.count) throw ValueError(formatted("part {} of {} does not exist", share.index, share.count));
  return share;
}

TRIREME_INLINE BatchRows BatchPlan::proportional(std::size_t k) const {
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

}  // namespace trireme::data
