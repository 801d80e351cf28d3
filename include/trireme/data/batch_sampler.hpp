/// The batches of an epoch, one after the other.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <type_traits>
#include <utility>

#include "trireme/data/batch.hpp"
#include "trireme/data/batch_buffer.hpp"
#include "trireme/data/batch_collator.hpp"
#include "trireme/data/batch_order.hpp"
#include "trireme/data/count.hpp"
#include "trireme/data/data_shard.hpp"
#include "trireme/data/sample_source.hpp"
#include "trireme/data/stream_options.hpp"

namespace trireme::data {

/// Sampler of one process's part of the batches of an epoch, in order: which samples are in which batch. Calls neither
/// MPI nor Kokkos.
template <class X, class Y, class T, class L>
class BatchSampler {
 public:
  static_assert(std::is_same_v<T, float> || std::is_same_v<T, double>, "trireme: a model computes in float or double");
  static_assert(std::is_same_v<L, T> || std::is_same_v<L, std::int32_t>,
                "trireme: targets are class indices (std::int32_t) or of the model's scalar");

  /// \param plan  division of the samples into batches; nothing if their number is not known beforehand.
  BatchSampler(SourcePointer<X, Y> source, std::optional<BatchPlan> plan, BatchOrder order, std::size_t batch,
               DataShard share, StreamOptions options)
      : plan_(std::move(plan)),
        order_(std::move(order)),
        batch_(batch),
        share_(share),
        filler_(std::move(source), plan_ ? plan_->max_rows() : batch, plan_.has_value(), std::move(options)) {}

  /// True if inputs are neither copied nor computed, from the first batch on, so that nothing can be done ahead of
  /// their use.
  bool in_place() const { return filler_.in_place(); }

  /// Begins an epoch with its batch number `first_batch`. A generator is read up to there by the next `fill`.
  void start(std::uint64_t epoch, std::size_t first_batch);

  /// Goes to another batch of the epoch that was started. Costs nothing where samples are found by their number; others
  /// are read up to there, from the beginning if they are past it.
  void seek(std::size_t batch);

  /// The next batch of the epoch into a slot; false after the last.
  bool fill(BatchBuffer<T, L>& slot);

 private:
  /// Made anew at the start of an epoch, so that nothing of the one before is left.
  struct Place {
    std::uint64_t epoch = 0;
    std::size_t position = 0;      // of the next batch in the epoch
    std::size_t unread = 0;        // batches to read and drop first
    std::size_t pass_batches = 0;  // in a pass: the number, or only a lower bound
    bool pass_known = false;
  };
  /// Likewise, of a pass over the source.
  struct Pass {
    std::uint64_t repetition = 0;
    std::size_t next_sample = 0;  // of a generator
    bool empty = false;           // likewise
  };

  bool fill_next(BatchBuffer<T, L>& slot);

  void start_pass(std::uint64_t repetition);

  // Reads the whole global batch of a generator, since only then the size of the last one is known.
  bool gather_unsized(std::size_t batch, BatchBuffer<T, L>& slot);

  std::optional<BatchPlan> plan_;
  BatchOrder order_;
  std::size_t batch_;
  DataShard share_;
  BatchCollator<X, Y, T, L> filler_;
  Place at_;
  std::optional<Pass> pass_;
};

template <class X, class Y, class T, class L>
void BatchSampler<X, Y, T, L>::start(std::uint64_t epoch, std::size_t first_batch) {
  at_ = plan_ ? Place{epoch, first_batch, 0, plan_->batches(), !plan_->endless()}
              : Place{epoch, 0, first_batch, 0, false};
  pass_.reset();
}

template <class X, class Y, class T, class L>
void BatchSampler<X, Y, T, L>::seek(std::size_t batch) {
  if (filler_.random_access() || (plan_ && batch >= at_.position))
    at_.position = batch;
  else if (batch < at_.position)
    start(at_.epoch, batch);
  else
    at_.unread = batch - at_.position;
}

template <class X, class Y, class T, class L>
bool BatchSampler<X, Y, T, L>::fill(BatchBuffer<T, L>& slot) {
  for (; at_.unread > 0; --at_.unread)
    if (!fill_next(slot)) return false;
  if (!fill_next(slot)) return false;
  filler_.check_inputs(slot.batch);
  return true;
}

template <class X, class Y, class T, class L>
bool BatchSampler<X, Y, T, L>::fill_next(BatchBuffer<T, L>& slot) {
  while (true) {
    BatchOrder::Pass const pass{at_.pass_batches, at_.pass_known};
    if (auto const place = order_.locate(at_.position, pass)) {
      if (!pass_ || place->repetition != pass_->repetition) start_pass(place->repetition);
      if (plan_ && (pass_->empty || place->batch >= plan_->batches())) return false;
      if (plan_) filler_.fill((*plan_)(place->batch), slot);
      if (plan_ || gather_unsized(place->batch, slot)) {
        ++at_.position;
        return true;
      }
      // The pass ended before this batch: now its number of batches is known, and the position lies elsewhere.
    } else {
      if (at_.pass_known || plan_) return false;
      if (auto const end = order_.size(pass); end && at_.position >= *end) return false;
      // Past the first pass, whose number of batches is not known yet: count them.
      if (!pass_) start_pass(0);
      gather_unsized(at_.pass_batches, slot);
    }
  }
}

template <class X, class Y, class T, class L>
void BatchSampler<X, Y, T, L>::start_pass(std::uint64_t repetition) {
  filler_.reader().start(pass_number(at_.epoch, order_.passes(), repetition));
  pass_ = Pass{repetition};
  // A generator that is repeated without end shows only here, and alike on all processes, that it has no samples.
  pass_->empty = plan_ && !plan_->local() && !filler_.random_access() && !filler_.reader().at(0);
}

template <class X, class Y, class T, class L>
bool BatchSampler<X, Y, T, L>::gather_unsized(std::size_t batch, BatchBuffer<T, L>& slot) {
  std::size_t rows = 0;
  std::size_t& next = pass_->next_sample;
  std::size_t const first = clamped_product(batch, batch_), end = clamped_product(batch + 1, batch_);
  while (next < end) {
    auto const sample = filler_.reader().at(next);
    if (!sample) {
      at_.pass_known = true;
      at_.pass_batches = next / batch_ + (next % batch_ != 0);
      break;
    }
    if (next >= first) filler_.store(*sample, slot, rows++, next);
    ++next;
  }
  if (rows == 0) return false;
  at_.pass_batches = std::max(at_.pass_batches, batch + 1);
  filler_.cut(even_rows(rows, share_), slot);
  return true;
}

}  // namespace trireme::data
