/// Puts the samples of a batch together, in the scalars of the model.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <numeric>
#include <optional>
#include <type_traits>
#include <utility>
#include <vector>

#include "trireme/backend/row_gather.hpp"
#include "trireme/data/batch.hpp"
#include "trireme/data/batch_order.hpp"
#include "trireme/data/batch_slot.hpp"
#include "trireme/data/batch_targets.hpp"
#include "trireme/data/class_weight.hpp"
#include "trireme/data/requirements.hpp"
#include "trireme/data/sample_source.hpp"
#include "trireme/data/shares.hpp"
#include "trireme/data/stream_options.hpp"
#include "trireme/error.hpp"
#include "trireme/text.hpp"

namespace trireme::data {

/// Reads one process's part of the batches of an epoch, in order. Calls neither MPI nor Kokkos.
///
/// A batch points into the source if its rows lie there as one block of the right scalar, or each for itself where that
/// is wanted, and into the slot otherwise.
template <class X, class Y, class T, class L>
class BatchGather {
 public:
  static_assert(std::is_same_v<T, float> || std::is_same_v<T, double>, "trireme: a model computes in float or double");
  static_assert(std::is_same_v<L, T> || std::is_same_v<L, std::int32_t>,
                "trireme: targets are class indices (std::int32_t) or of the model's scalar");

  /// \param plan  how the samples fall into batches; nothing if their number is not known beforehand.
  BatchGather(SourcePointer<X, Y> source, std::optional<BatchPlan> plan, BatchOrder order, std::size_t batch,
              Share share, StreamOptions options)
      : source_(std::move(source)),
        reader_(source_->reader()),
        plan_(std::move(plan)),
        order_(std::move(order)),
        batch_(batch),
        share_(share),
        options_(std::move(options)),
        targets_(source_->y_size(), options_.classes, options_.labels),
        capacity_(plan_ ? plan_->max_rows() : batch),
        in_place_(options_.scattered && std::is_same_v<X, T> && plan_ && source_->in_memory()) {
    options_.verify(source_->weighted());
  }

  /// Whether inputs are never copied or computed, so that there is nothing to be done ahead of their use.
  bool in_place() const { return in_place_; }

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
    check_inputs(slot.batch);
    return true;
  }

 private:
  bool fill_next(BatchSlot<T, L>& slot) {
    while (true) {
      BatchOrder::Pass const pass{pass_batches_, pass_known_};
      if (auto const place = order_.locate(position_, pass)) {
        if (!started_ || place->repetition != repetition_) start_pass(place->repetition);
        if (plan_) gather((*plan_)(place->batch), slot);
        if (plan_ || gather_unsized(place->batch, slot)) {
          ++position_;
          slot.batch.ticket = std::exchange(announced_, 0);
          if (slot.batch.x_rows && options_.looks_ahead) look_ahead(slot);
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
    reader_->start(epoch_ * order_.passes() + repetition_);
    next_sample_ = 0;
    started_ = true;
  }

  void gather(BatchRows const& rows, BatchSlot<T, L>& slot) {
    slot.batch = {nullptr, nullptr, nullptr, rows.rows, rows.first_row, rows.global_rows};
    if (rows.rows == 0) return;
    std::size_t const nx = source_->x_size(), ny = source_->y_size();
    if (auto const block = reader_->run(rows.first_sample, rows.rows)) {
      if constexpr (std::is_same_v<X, T>) {
        slot.batch.x = block->x;
      } else {
        reserve(slot.x, capacity_ * nx);
        std::transform(block->x, block->x + rows.rows * nx, slot.x.data(), [](X v) { return static_cast<T>(v); });
        slot.batch.x = slot.x.data();
      }
      if (!options_.targets) {
        // nobody looks at them
      } else if constexpr (std::is_same_v<Y, L>) {
        slot.batch.y = block->y;
        targets_.check(block->y, rows.rows, rows.first_sample);
      } else {
        reserve(slot.y, capacity_ * ny);
        targets_.convert(block->y, slot.y.data(), rows.rows, rows.first_sample);
        slot.batch.y = slot.y.data();
      }
      slot.batch.weight = block->weight;
    } else {
      make_room(slot);
      if (!in_place_ || !point_at_rows(rows, slot)) gather_in_turn(rows, slot);
      point_at_slot(slot);
    }
    weigh_classes(slot);
  }

  /// Inputs stay where they lie, if that is known of all; targets and weights are few numbers from all over the memory.
  bool point_at_rows(BatchRows const& rows, BatchSlot<T, L>& slot) {
    if constexpr (std::is_same_v<X, T>) {
      if (!find(rows)) return false;
      std::size_t const ny = source_->y_size();
      for (std::size_t row = 0; row < rows.rows; ++row) {
        slot.x_rows[row] = found_[row].x;
        detail::prefetch(found_[row].y, ny);
      }
      if (options_.targets)
        for (std::size_t row = 0; row < rows.rows; ++row)
          targets_.convert(found_[row].y, slot.y.data() + row * ny, 1, rows.first_sample + row);
      if (source_->weighted())
        for (std::size_t row = 0; row < rows.rows; ++row)
          slot.weight[row] = found_[row].weight ? *found_[row].weight : 1.0;
    }
    return std::is_same_v<X, T>;
  }

  void gather_in_turn(BatchRows const& rows, BatchSlot<T, L>& slot) {
    for (std::size_t row = 0; row < rows.rows; ++row) {
      auto const sample = reader_->at(rows.first_sample + row);
      if (!sample)
        throw ValueError(
            formatted("a dataset ended at sample {}, before the size that it gave", rows.first_sample + row));
      store(*sample, slot, row, rows.first_sample + row);
    }
  }

  /// Where the samples of so many rows lie, into `found_`, if they all stay there.
  bool find(BatchRows const& rows) {
    positions_.reserve(capacity_);
    positions_.resize(rows.rows);
    std::iota(positions_.begin(), positions_.end(), rows.first_sample);
    reserve(found_, capacity_);
    return reader_->find(positions_, found_.data());
  }

  /// Where the inputs of the batch after this one lie. Nothing else of it is read before its turn.
  void look_ahead(BatchSlot<T, L>& slot) {
    if constexpr (std::is_same_v<X, T>) {
      auto const place = order_.locate(position_, {pass_batches_, pass_known_});
      if (!place || place->repetition != repetition_) return;
      BatchRows const rows = (*plan_)(place->batch);
      if (!find(rows)) return;
      reserve(slot.next_x_rows, capacity_);
      for (std::size_t row = 0; row < rows.rows; ++row) {
        slot.next_x_rows[row] = found_[row].x;
        detail::prefetch(found_[row].y, source_->y_size());
      }
      announced_ = new_ticket();
      slot.batch.next = {slot.next_x_rows.data(), rows.rows, announced_};
    }
  }

  // A generator: the whole global batch is read, since only then it is known how large the last one is.
  bool gather_unsized(std::size_t batch, BatchSlot<T, L>& slot) {
    make_room(slot);
    std::size_t rows = 0;
    while (next_sample_ < (batch + 1) * batch_) {
      auto const sample = reader_->at(next_sample_);
      if (!sample) {
        pass_known_ = true;
        pass_batches_ = next_sample_ / batch_ + (next_sample_ % batch_ != 0);
        break;
      }
      if (next_sample_ >= batch * batch_) store(*sample, slot, rows++, next_sample_);
      ++next_sample_;
    }
    if (rows == 0) return false;
    pass_batches_ = std::max(pass_batches_, batch + 1);
    BatchRows const mine = even_rows(rows, share_);
    slot.batch = {nullptr, nullptr, nullptr, mine.rows, mine.first_row, rows};
    point_at_slot(slot);
    std::size_t const first = mine.first_row;
    slot.batch.x += first * source_->x_size();
    if (options_.targets) slot.batch.y += first * source_->y_size();
    if (slot.batch.weight) slot.batch.weight += first;
    weigh_classes(slot);
    return true;
  }

  void make_room(BatchSlot<T, L>& slot) {
    if (in_place_)
      reserve(slot.x_rows, capacity_);
    else
      reserve(slot.x, capacity_ * source_->x_size());
    if (options_.targets) reserve(slot.y, capacity_ * source_->y_size());
    if (source_->weighted()) reserve(slot.weight, capacity_);
  }

  void point_at_slot(BatchSlot<T, L>& slot) {
    slot.batch.x = in_place_ ? nullptr : slot.x.data();
    slot.batch.x_rows = in_place_ ? slot.x_rows.data() : nullptr;
    slot.batch.y = options_.targets ? slot.y.data() : nullptr;
    slot.batch.weight = source_->weighted() ? slot.weight.data() : nullptr;
  }

  void store(Sample<X, Y> const& sample, BatchSlot<T, L>& slot, std::size_t row, std::size_t position) {
    std::size_t const nx = source_->x_size(), ny = source_->y_size();
    if constexpr (std::is_same_v<X, T>)
      if (in_place_) slot.x_rows[row] = sample.x;
    if (!in_place_)
      std::transform(sample.x, sample.x + nx, slot.x.data() + row * nx, [](X value) { return static_cast<T>(value); });
    if (options_.targets) targets_.convert(sample.y, slot.y.data() + row * ny, 1, position);
    if (source_->weighted()) slot.weight[row] = sample.weight ? *sample.weight : 1.0;
  }

  void check_inputs(Batch<T, L> const& batch) const {
    if (options_.indices.empty() || source_->inputs()) return;
    std::size_t const nx = std::max<std::size_t>(source_->x_size(), 1);
    auto const place = [&](std::size_t row) { return formatted("of row {} of a batch", batch.first_row + row); };
    if (!batch.x_rows) return verify_indices(batch.x, batch.rows, nx, options_.indices, place);
    for (std::size_t row = 0; row < batch.rows; ++row)
      verify_indices(batch.x_rows[row], 1, nx, options_.indices, [&](std::size_t) { return place(row); });
  }

  void weigh_classes(BatchSlot<T, L>& slot) {
    if (options_.class_weight.empty()) return;
    std::size_t const ny = source_->y_size();
    if (std::is_same_v<L, std::int32_t> && ny != 1)
      throw ValueError("class_weight needs one label a sample; give sample weights instead");
    reserve(slot.weight, capacity_);
    for (std::size_t row = 0; row < slot.batch.rows; ++row)
      slot.weight[row] = weight_of_class(options_.class_weight, slot.batch.y + row * ny, ny);
    slot.batch.weight = slot.weight.data();
  }

  template <class V>
  static void reserve(std::vector<V>& memory, std::size_t size) {
    if (memory.size() < size) memory.resize(size);
  }

  SourcePointer<X, Y> source_;
  std::unique_ptr<SampleReader<X, Y>> reader_;
  std::optional<BatchPlan> plan_;
  BatchOrder order_;
  std::size_t batch_;
  Share share_;
  StreamOptions options_;
  BatchTargets<Y, L> targets_;
  std::size_t capacity_;         // rows that a slot has to hold
  std::uint64_t announced_ = 0;  // ticket of the batch that the one before named as its next
  std::vector<std::size_t> positions_;
  std::vector<Sample<X, Y>> found_;
  bool in_place_;

  std::uint64_t epoch_ = 0;
  std::uint64_t repetition_ = 0;
  bool started_ = false;
  std::size_t position_ = 0;     // of the next batch in the epoch
  std::size_t unread_ = 0;       // batches to read and drop first
  std::size_t next_sample_ = 0;  // of a generator, in its pass
  bool pass_known_ = false;      // whether pass_batches_ is the number or only a lower bound
  std::size_t pass_batches_ = 0;
};

}  // namespace trireme::data
