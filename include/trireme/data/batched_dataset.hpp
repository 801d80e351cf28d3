/// A dataset cut into batches: what `fit`, `evaluate` and `predict` take.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "trireme/core/hash.hpp"
#include "trireme/data/batch.hpp"
#include "trireme/data/batch_cache.hpp"
#include "trireme/data/batch_order.hpp"
#include "trireme/data/batch_sampler.hpp"
#include "trireme/data/batch_size.hpp"
#include "trireme/data/batch_stream.hpp"
#include "trireme/data/cache.hpp"
#include "trireme/data/count.hpp"
#include "trireme/data/data_shard.hpp"
#include "trireme/data/requirements.hpp"
#include "trireme/data/sample_description.hpp"
#include "trireme/data/sample_source.hpp"

namespace trireme::data {

/// Dataset in batches (rows, extents...), which `fit`, `evaluate` and `predict` take. Made by `Dataset::batch`. A cheap
/// value over the same data, which have to outlive it where they were given by reference; `take`, `skip` and `repeat`
/// count batches here, as in tf.data.
///
/// Process r of W gets the rows [B * r / W, B * (r + 1) / W) of each batch of B samples, so its part may be uneven or
/// empty; of samples that each process owns it gives a part in proportion to how many it has. Every process knows the
/// size of each batch over all of them, without communication. No member is collective.
/// \throws ValueError naming operation, number and range where a number is no count (at most 2^48).
template <class X, class Y>
class BatchedDataset {
 public:
  using x_type = X;
  using y_type = Y;

  /// Batches of a source of samples; `Dataset::batch` makes them.
  BatchedDataset(SourcePointer<X, Y> source, SampleDescription description, BatchSize size)
      : source_(std::move(source)), description_(std::move(description)), size_(size) {}
  // A move copies, so that it leaves no dataset without data behind.
  BatchedDataset(BatchedDataset const&) = default;
  BatchedDataset& operator=(BatchedDataset const&) = default;

  /// The first `count` batches.
  BatchedDataset take(Count const& count) const;
  /// All but the first `count` batches.
  BatchedDataset skip(Count const& count) const;
  /// `count` passes in one epoch, without end if no number is given (or -1); each ends with its own partial batch.
  BatchedDataset repeat(Count const& count = forever) const;
  /// Keeps the samples in memory in the order of the first pass. A `take` before it limits what is read of samples that
  /// come in order, such as a generator's, which may then have no end.
  /// \throws ValueError if the samples have no end and no `take` limits them.
  BatchedDataset cache() const;
  /// Gathers `count` batches ahead on a thread, or as many as the library chooses (`autotune`, which is -1); not where
  /// samples lie in memory and the step's own threads take them from there. The thread begins with the first epoch or
  /// test. When a call ends, it may have read `count` batches of a generator more than the call has used.
  BatchedDataset prefetch(Count const& count) const;
  /// The dataset under a name of the user's choice, for messages.
  BatchedDataset named(std::string name) const;

  /// The batches of one process from batch `first_batch` of an epoch on.
  ///
  /// \tparam T  the model's scalar.  \tparam L  std::int32_t for class indices, T for dense targets.
  /// \throws ValueError if class weights are given for samples that have weights.
  template <class T, class L>
  BatchStream<X, Y, T, L> stream(DataShard share, std::uint64_t epoch = 0, std::size_t first_batch = 0,
                                 StreamOptions options = {}) const;

  /// Batches in an epoch, if that is a known and finite number.
  std::optional<std::size_t> batches_per_epoch(DataShard share) const;

  /// The most rows that a batch hands this process, for planning its memory.
  std::size_t max_rows(DataShard share) const;

  /// Samples of a full batch, over all processes.
  std::size_t global_batch(DataShard share) const { return size_.global(share); }
  /// Batch size as it was given, global or per replica.
  BatchSize batch_size() const { return size_; }

  /// Extents of the input of one sample.
  std::vector<std::size_t> const& x_extents() const { return description_.x_extents; }
  /// Extents of the target of one sample; (0,) without targets.
  std::vector<std::size_t> const& y_extents() const { return description_.y_extents; }
  /// Requirements that the targets of these data always fulfil.
  std::vector<TargetPart> targets_as_they_are() const;
  /// True if samples have targets.
  bool has_targets() const { return description_.y_size() != 0; }
  /// True if samples have weights of their own.
  bool has_sample_weights() const { return source_->weighted(); }

  /// Samples in one pass, over all processes, if that is a known and finite number.
  std::optional<std::size_t> size() const { return dataset_size(*source_, description_); }

  /// True if every process has samples of its own, instead of all the same.
  bool is_local() const { return description_.local.has_value(); }

  /// True if an epoch has batches without end.
  bool endless() const { return order_.endless(is_endless(*source_, description_)); }

  /// True if the end of a pass over the samples shows only when it is reached, as that of a generator.
  bool may_run_out(DataShard share) const { return source(share)->may_run_out(); }

  /// Lineage of the data, equal on all processes that hold the right data. Reads all data that lie in memory; not
  /// collective.
  Lineage lineage() const;
  /// Size of a pass and hash of the lineage, by which processes compare their data. Not collective.
  Checksum checksum() const { return {size().value_or(0), lineage().hash()}; }

  /// Hash of this process's samples and of what was done to them: of data that each process owns another on each. Reads
  /// all data that lie in memory; not collective.
  std::uint64_t own_hash() const;

  /// Name of the data in messages: their role, and the name that they may have.
  std::string called(std::string const& role) const;

  /// Checks that the samples fit a model, and all labels and indices that lie in memory (of others, each as its batch
  /// comes).
  ///
  /// \param role  purpose of the data, in messages on data without a name.
  /// \throws ShapeError naming both extents; ValueError naming index and value of the first label that does not fit.
  void verify(SampleRequirements const& needed, std::string const& role = "the dataset") const;

 private:
  /// Source that the batches of a process are drawn from: this dataset's, or the cache of its first samples.
  SourcePointer<X, Y> source(DataShard share) const;

  std::optional<BatchPlan> plan(DataShard share) const;

  SourcePointer<X, Y> source_;
  SampleDescription description_;
  BatchSize size_;
  BatchOrder order_;
  std::shared_ptr<BatchCache<X, Y>> cache_{};  ///< of the source, where operations on batches limit what is cached
};

template <class X, class Y>
BatchedDataset<X, Y> BatchedDataset<X, Y>::take(Count const& count) const {
  BatchedDataset result = *this;
  result.order_.take(count.of("take", "batches"));
  return result;
}

template <class X, class Y>
BatchedDataset<X, Y> BatchedDataset<X, Y>::skip(Count const& count) const {
  BatchedDataset result = *this;
  result.order_.skip(count.of("skip", "batches"));
  return result;
}

template <class X, class Y>
BatchedDataset<X, Y> BatchedDataset<X, Y>::repeat(Count const& count) const {
  BatchedDataset result = *this;
  result.order_.repeat(count.unlimited() ? forever : count.of("repeat", "passes"));
  return result;
}

template <class X, class Y>
BatchedDataset<X, Y> BatchedDataset<X, Y>::cache() const {
  BatchedDataset result = *this;
  if (cache_) return result;
  bool const no_end = is_endless(*source_, description_);
  std::size_t const limit = order_.pass_limit();
  std::size_t const skipped = order_.pass_begin();
  if ((limit == forever && (no_end || skipped == 0)) || (source_->random_access() && !no_end))
    result.source_ = cached(source_, no_end);
  else
    result.cache_ = std::make_shared<BatchCache<X, Y>>(source_, limit, skipped);
  return result;
}

template <class X, class Y>
BatchedDataset<X, Y> BatchedDataset<X, Y>::prefetch(Count const& count) const {
  BatchedDataset result = *this;
  result.description_.prefetch_at_least(count);
  return result;
}

template <class X, class Y>
BatchedDataset<X, Y> BatchedDataset<X, Y>::named(std::string name) const {
  BatchedDataset result = *this;
  result.description_.x_name = result.description_.y_name = std::move(name);
  return result;
}

template <class X, class Y>
template <class T, class L>
BatchStream<X, Y, T, L> BatchedDataset<X, Y>::stream(DataShard share, std::uint64_t epoch, std::size_t first_batch,
                                                     StreamOptions options) const {
  BatchPlan::checked(share);
  options.x_name = description_.x_called(options.x_name);
  options.y_name = description_.y_called(options.y_name);
  std::size_t const ahead = options.in_order ? description_.prefetch : 0;
  return {BatchSampler<X, Y, T, L>(source(share), plan(share), order_, size_.global(share), share, std::move(options)),
          ahead, epoch, first_batch};
}

template <class X, class Y>
std::optional<std::size_t> BatchedDataset<X, Y>::batches_per_epoch(DataShard share) const {
  auto const known = plan(share);
  if (!known) return order_.size({0, false});
  return order_.size({known->batches(), !known->endless()});
}

template <class X, class Y>
std::size_t BatchedDataset<X, Y>::max_rows(DataShard share) const {
  auto const known = plan(share);
  std::size_t const batch = size_.global(share);
  if (!known && !share.draws()) return 0;
  return known ? known->max_rows() : batch / share.drawing() + (batch % share.drawing() != 0);
}

template <class X, class Y>
std::vector<TargetPart> BatchedDataset<X, Y>::targets_as_they_are() const {
  std::vector<TargetPart> parts;
  for (auto const& extents : description_.y_parts) parts.push_back({extents, 0});
  return parts;
}

template <class X, class Y>
Lineage BatchedDataset<X, Y>::lineage() const {
  CachedSource<X, Y> const cached(source_);
  Lineage result = dataset_lineage(cache_ ? cached : *source_, description_);
  result.add("batch", size_.per_replica() ? "size per replica" : "size", size_.size());
  order_.trace(result);
  return result;
}

template <class X, class Y>
std::uint64_t BatchedDataset<X, Y>::own_hash() const {
  Lineage own;
  source_->trace(own);
  return own.hash();
}

template <class X, class Y>
std::string BatchedDataset<X, Y>::called(std::string const& role) const {
  return description_.x_name.empty() ? role : formatted("{} ({})", role, description_.x_name);
}

template <class X, class Y>
void BatchedDataset<X, Y>::verify(SampleRequirements const& needed, std::string const& role) const {
  SampleDescription d = description_;
  d.x_name = d.x_called(role);
  d.y_name = d.y_called(role);
  verify_extents({d.x_extents, d.x_parts, d.x_name}, {d.y_extents, d.y_parts, d.y_name}, needed);
  if (HostTensor<X> const* inputs = source_->inputs()) verify_indices(*inputs, needed.indices, d.x_name);
  HostTensor<Y> const* const labels = source_->targets();
  if (labels && needed.classes != 0) verify_labels(*labels, needed.classes, needed.ignored, d.y_name);
  if (labels && needed.classes == 0) verify_labels(*labels, needed.label_columns(), d.y_name);
}

template <class X, class Y>
SourcePointer<X, Y> BatchedDataset<X, Y>::source(DataShard share) const {
  if (!cache_) return source_;
  if (!description_.local)
    return cache_->first(clamped_product(cache_->batches(), size_.global(share)),
                         clamped_product(cache_->skipped(), size_.global(share)));
  BatchPlan const own(*description_.local, size_.global(share), share);
  auto const before = [&](std::size_t batches) -> std::size_t {  // samples of this process
    batches = std::min(batches, own.batches());
    if (batches == 0) return 0;
    BatchRows const last = own(batches - 1);
    return last.first_sample + last.rows;
  };
  return cache_->first(before(cache_->batches()), before(cache_->skipped()));
}

template <class X, class Y>
std::optional<BatchPlan> BatchedDataset<X, Y>::plan(DataShard share) const {
  if (description_.local) return BatchPlan(*description_.local, size_.global(share), share);
  auto const from = source(share);
  auto const size = from->size();
  bool const endless = from->endless();
  if (!size && !endless) return std::nullopt;
  return BatchPlan(size.value_or(0), size_.global(share), share, endless);
}

}  // namespace trireme::data
