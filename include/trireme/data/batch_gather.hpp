/// The batches of an epoch, one after the other.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <type_traits>
#include <utility>

#include "trireme/data/batch.hpp"
#include "trireme/data/batch_order.hpp"
#include "trireme/data/batch_slot.hpp"
#include "trireme/data/sample_source.hpp"
#include "trireme/data/shares.hpp"
#include "trireme/data/slot_filler.hpp"
#include "trireme/data/stream_options.hpp"

namespace trireme::data {

/// Reads one process's part of the batches of an epoch, in order: which samples are in which batch. Calls neither MPI
/// nor Kokkos.
template <class X, class Y, class T, class L>
class BatchGather {
 public:
  static_assert(std::is_same_v<T, float> || std::is_same_v<T, double>, "trireme: a model computes in float or double");
  static_assert(std::is_same_v<L, T> || std::is_same_v<L, std::int32_t>,
                "trireme: targets are class indices (std::int32_t) or of the model's scalar");

  /// \param plan  how the samples fall into batches; nothing if their number is not known beforehand.
  BatchGather(SourcePointer<X, Y> source, std::optional<BatchPlan> plan, BatchOrder order, std::size_t batch,
              Share share, StreamOptions options)
      : plan_(std::move(plan)),
        order_(std::move(order)),
        batch_(batch),
        share_(share),
        looks_ahead_(options.looks_ahead),
        filler_(std::move(source), plan_ ? plan_->max_rows() : batch, plan_.has_value(), std::move(options)) {}

  /// Whether inputs are never copied or computed, so that there is nothing to be done ahead of their use.
  bool in_place() const { return filler_.in_place(); }

  /// Begins an epoch with its batch number `first_batch`. A generator is read up to there by the next `fill`.
  void start(std::uint64_t epoch, std::size_t first_batch) {
    announced_ = 0;
    epoch_ = epoch;
    pass_known_ = plan_ && !plan_->endless();
    pass_batches_ = plan_ ? plan_->batches() : 0;
    position_ = plan_ ? first_batch : 0;
    unread_ = plan_ ? 0 : first_batch;
    started_ = false;
  }

  /// Goes to another batch of the epoch that was started. Costs nothing where samples are found by their number; a
  /// generator is read up to there, from its beginning if it is past it.
  void seek(std::size_t batch) {
    announced_ = 0;
    if (plan_)
      position_ = batch;
    else if (batch < position_)
      start(epoch_, batch);
    else
      unread_ = batch - position_;
  }

  /// The next batch of the epoch into a slot; false after the last.
  bool fill(BatchSlot<T, L>& slot) {
    for (; unread_ > 0; --unread_)
      if (!fill_next(slot)) return false;
    if (!fill_next(slot)) return false;
    filler_.check_inputs(slot.batch);
    return true;
  }

 private:
  bool fill_next(BatchSlot<T, L>& slot) {
    while (true) {
      BatchOrder::Pass const pass{pass_batches_, pass_known_};
      if (auto const place = order_.locate(position_, pass)) {
        if (!started_ || place->repetition != repetition_) start_pass(place->repetition);
        if (plan_) filler_.fill((*plan_)(place->batch), slot);
        if (plan_ || gather_unsized(place->batch, slot)) {
          ++position_;
          slot.batch.ticket = std::exchange(announced_, 0);
          if (slot.batch.x_rows && looks_ahead_) look_ahead(slot);
          return true;
        }
        // The pass ended before this batch: now its number of batches is known, and the position lies elsewhere.
      } else {
        if (pass_known_ || plan_) return false;
        if (auto const end = order_.size(pass); end && position_ >= *end) return false;
        // Past the first pass, whose number of batches is not known yet: look how long it is.
        if (!started_) start_pass(0);
        gather_unsized(pass_batches_, slot);
      }
    }
  }

  void start_pass(std::uint64_t repetition) {
    repetition_ = repetition;
    filler_.reader().start(epoch_ * order_.passes() + repetition_);
    next_sample_ = 0;
    started_ = true;
  }

  /// Where the inputs of the batch after this one lie. Nothing else of it is read before its turn.
  void look_ahead(BatchSlot<T, L>& slot) {
    auto const place = order_.locate(position_, {pass_batches_, pass_known_});
    if (!place || place->repetition != repetition_) return;
    std::uint64_t const ticket = new_ticket();
    if (filler_.announce((*plan_)(place->batch), ticket, slot)) announced_ = ticket;
  }

  // A generator: the whole global batch is read, since only then it is known how large the last one is.
  bool gather_unsized(std::size_t batch, BatchSlot<T, L>& slot) {
    filler_.make_room(slot);
    std::size_t rows = 0;
    while (next_sample_ < (batch + 1) * batch_) {
      auto const sample = filler_.reader().at(next_sample_);
      if (!sample) {
        pass_known_ = true;
        pass_batches_ = next_sample_ / batch_ + (next_sample_ % batch_ != 0);
        break;
      }
      if (next_sample_ >= batch * batch_) filler_.store(*sample, slot, rows++, next_sample_);
      ++next_sample_;
    }
    if (rows == 0) return false;
    pass_batches_ = std::max(pass_batches_, batch + 1);
    filler_.cut(even_rows(rows, share_), slot);
    return true;
  }

  std::optional<BatchPlan> plan_;
  BatchOrder order_;
  std::size_t batch_;
  Share share_;
  bool looks_ahead_;
  SlotFiller<X, Y, T, L> filler_;

  std::uint64_t epoch_ = 0;
  std::uint64_t repetition_ = 0;
  bool started_ = false;
  std::uint64_t announced_ = 0;  // ticket of the batch that the one before named as its next
  std::size_t position_ = 0;     // of the next batch in the epoch
  std::size_t unread_ = 0;       // batches to read and drop first
  std::size_t next_sample_ = 0;  // of a generator, in its pass
  bool pass_known_ = false;      // whether pass_batches_ is the number or only a lower bound
  std::size_t pass_batches_ = 0;
};

}  // namespace trireme::data
