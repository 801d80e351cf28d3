/// Puts the samples of a batch together, in the scalars of the model.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <numeric>
#include <type_traits>
#include <utility>
#include <vector>

#include "trireme/backend/gemm/rows_view.hpp"
#include "trireme/core/error.hpp"
#include "trireme/core/text.hpp"
#include "trireme/data/batch_buffer.hpp"
#include "trireme/data/batch_targets.hpp"
#include "trireme/data/class_weight.hpp"
#include "trireme/data/count.hpp"
#include "trireme/data/data_shard.hpp"
#include "trireme/data/input_memory.hpp"
#include "trireme/data/requirements.hpp"
#include "trireme/data/sample_source.hpp"
#include "trireme/data/stream_options.hpp"

namespace trireme::data {

/// A batch points into the source if its rows lie there as one block of the right scalar, or each for itself where
/// `scattered` is set or devices keep a copy of the inputs, and into the buffer otherwise.
template <class X, class Y, class T, class L>
class BatchCollator {
 public:
  /// \param capacity  rows that a buffer has to hold.
  /// \param sized  true if the number of samples is known beforehand.
  BatchCollator(SourcePointer<X, Y> source, std::size_t capacity, bool sized, StreamOptions options);

  /// Reader of the source, whose passes the caller begins.
  SampleReader<X, Y>& reader() { return *reader_; }
  /// True if samples are found by their number, in any order.
  bool random_access() const { return source_->random_access(); }
  /// True if inputs are neither copied nor computed, from the first batch on.
  bool in_place() const { return in_place_; }

  /// The rows of a batch that are samples one after another in the reader's order.
  void fill(BatchRows const& rows, BatchBuffer<T, L>& slot);

  // For reading sample by sample.
  /// Makes room in the buffer for so many rows.
  void make_room(BatchBuffer<T, L>& slot, std::size_t rows);

  /// Converts a sample into a row of the buffer; `position` is the sample's, for messages.
  void store(Sample<X, Y> const& sample, BatchBuffer<T, L>& slot, std::size_t row, std::size_t position);

  /// Makes the batch of a buffer that holds all rows of a global batch this process's rows of it.
  void cut(BatchRows const& rows, BatchBuffer<T, L>& slot);

  /// Indices among inputs that do not lie in memory as a whole. \throws ValueError naming the first that does not fit.
  void check_inputs(Batch<T, L> const& batch) const;

 private:
  /// Leaves inputs in place, if the place of each is known; targets and weights are few numbers from all over the
  /// memory.
  bool point_at_rows(BatchRows const& rows, BatchBuffer<T, L>& slot);

  void gather_in_turn(BatchRows const& rows, BatchBuffer<T, L>& slot);

  /// Finds the samples of these rows for `found_`; false unless all of them stay in place.
  bool find(BatchRows const& rows);

  void point_at_slot(BatchBuffer<T, L>& slot);

  void weigh_classes(BatchBuffer<T, L>& slot);

  template <class V>
  static void reserve(std::vector<V>& memory, std::size_t rows, std::size_t row_size = 1) {
    std::size_t const size = clamped_product(rows, row_size);
    if (memory.size() >= size) return;
    if (size > memory.max_size())
      throw ValueError(formatted("a batch of {} samples of {} numbers is more than memory can hold", rows, row_size));
    memory.resize(size);
  }

  SourcePointer<X, Y> source_;
  std::unique_ptr<SampleReader<X, Y>> reader_;
  StreamOptions options_;
  BatchTargets<Y, L> targets_;
  std::size_t capacity_;
  bool sized_, in_place_;
  std::unique_ptr<InputMemory<T>> memory_;  ///< null unless devices may keep a copy of it
  std::vector<std::size_t> positions_;
  std::vector<Sample<X, Y>> found_;
};

template <class X, class Y, class T, class L>
BatchCollator<X, Y, T, L>::BatchCollator(SourcePointer<X, Y> source, std::size_t capacity, bool sized,
                                         StreamOptions options)
    : source_(std::move(source)),
      reader_(source_->reader()),
      options_(std::move(options)),
      targets_(source_->y_size(), options_.classes, options_.ignored, options_.labels, options_.y_name),
      capacity_(capacity),
      sized_(sized),
      in_place_(options_.scattered && std::is_same_v<X, T> && sized && !source_->memory().empty()) {
  if constexpr (std::is_same_v<X, T>)
    if (options_.kept > 0 && sized && !source_->memory().empty())
      memory_ = std::make_unique<InputMemory<T>>(source_->memory(), options_.kept);
  options_.verify(source_->weighted());
}

template <class X, class Y, class T, class L>
void BatchCollator<X, Y, T, L>::fill(BatchRows const& rows, BatchBuffer<T, L>& slot) {
  slot.batch = {nullptr, nullptr, nullptr, rows.rows, rows.first_row, rows.global_rows, memory_.get(), 0};
  in_place_ = in_place_ || (memory_ && memory_->copied());
  if (rows.rows == 0) return;
  std::size_t const nx = source_->x_size(), ny = source_->y_size();
  if (auto const block = reader_->run(rows.first_sample, rows.rows)) {
    if constexpr (std::is_same_v<X, T>) {
      slot.batch.x = block->x;
    } else {
      reserve(slot.x, capacity_, nx);
      std::transform(block->x, block->x + rows.rows * nx, slot.x.data(), [](X v) { return static_cast<T>(v); });
      slot.batch.x = slot.x.data();
    }
    if (!options_.targets) {
      // targets are not read
    } else if constexpr (std::is_same_v<Y, L>) {
      slot.batch.y = block->y;
      targets_.check(block->y, rows.rows, rows.first_sample);
    } else {
      reserve(slot.y, capacity_, ny);
      targets_.convert(block->y, slot.y.data(), rows.rows, rows.first_sample);
      slot.batch.y = slot.y.data();
    }
    slot.batch.weight = block->weight;
  } else {
    make_room(slot, capacity_);
    if (!in_place_ || !point_at_rows(rows, slot)) gather_in_turn(rows, slot);
    point_at_slot(slot);
  }
  weigh_classes(slot);
}

template <class X, class Y, class T, class L>
void BatchCollator<X, Y, T, L>::make_room(BatchBuffer<T, L>& slot, std::size_t rows) {
  if (in_place_)
    reserve(slot.x_rows, rows);
  else
    reserve(slot.x, rows, source_->x_size());
  if (options_.targets) reserve(slot.y, rows, source_->y_size());
  if (source_->weighted()) reserve(slot.weight, rows);
}

template <class X, class Y, class T, class L>
void BatchCollator<X, Y, T, L>::store(Sample<X, Y> const& sample, BatchBuffer<T, L>& slot, std::size_t row,
                                      std::size_t position) {
  std::size_t const nx = source_->x_size(), ny = source_->y_size();
  if (!sized_) make_room(slot, row + 1);  // as many as a generator gives, which may be fewer than the batch holds
  if constexpr (std::is_same_v<X, T>)
    if (in_place_) slot.x_rows[row] = sample.x;
  if (!in_place_)
    std::transform(sample.x, sample.x + nx, slot.x.data() + row * nx, [](X value) { return static_cast<T>(value); });
  if (options_.targets) targets_.convert(sample.y, slot.y.data() + row * ny, 1, position);
  if (source_->weighted()) slot.weight[row] = sample.weight ? *sample.weight : 1.0;
}

template <class X, class Y, class T, class L>
void BatchCollator<X, Y, T, L>::cut(BatchRows const& rows, BatchBuffer<T, L>& slot) {
  slot.batch = {nullptr, nullptr, nullptr, rows.rows, rows.first_row, rows.global_rows, nullptr, 0};
  point_at_slot(slot);
  slot.batch.x = slot.batch.x.from_row(rows.first_row, source_->x_size());
  if (options_.targets) slot.batch.y += rows.first_row * source_->y_size();
  if (slot.batch.weight) slot.batch.weight += rows.first_row;
  weigh_classes(slot);
}

template <class X, class Y, class T, class L>
void BatchCollator<X, Y, T, L>::check_inputs(Batch<T, L> const& batch) const {
  if (options_.indices.empty() || source_->inputs()) return;
  std::size_t const nx = std::max<std::size_t>(source_->x_size(), 1);
  auto const place = [&](std::size_t row) {
    return formatted("of row {} of a batch{}", batch.first_row + row,
                     options_.x_name.empty() ? "" : " of " + options_.x_name);
  };
  verify_indices(batch.x, batch.rows, nx, options_.indices, place);
}

template <class X, class Y, class T, class L>
bool BatchCollator<X, Y, T, L>::point_at_rows(BatchRows const& rows, BatchBuffer<T, L>& slot) {
  if constexpr (std::is_same_v<X, T>) {
    if (!find(rows)) return false;
    std::size_t const ny = source_->y_size();
    for (std::size_t row = 0; row < rows.rows; ++row) {
      slot.x_rows[row] = found_[row].x;
      trireme::detail::prefetch(found_[row].y, ny);
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

template <class X, class Y, class T, class L>
void BatchCollator<X, Y, T, L>::gather_in_turn(BatchRows const& rows, BatchBuffer<T, L>& slot) {
  for (std::size_t row = 0; row < rows.rows; ++row) {
    auto const sample = reader_->at(rows.first_sample + row);
    if (!sample)
      throw ValueError(
          formatted("a dataset ended at sample {}, before the size that it gave", rows.first_sample + row));
    store(*sample, slot, row, rows.first_sample + row);
  }
}

template <class X, class Y, class T, class L>
bool BatchCollator<X, Y, T, L>::find(BatchRows const& rows) {
  positions_.reserve(capacity_);
  positions_.resize(rows.rows);
  std::iota(positions_.begin(), positions_.end(), rows.first_sample);
  reserve(found_, capacity_);
  return reader_->find(positions_, found_.data());
}

template <class X, class Y, class T, class L>
void BatchCollator<X, Y, T, L>::point_at_slot(BatchBuffer<T, L>& slot) {
  slot.batch.x = in_place_ ? RowsView<T>::scattered(slot.x_rows.data()) : slot.x.data();
  slot.batch.y = options_.targets ? slot.y.data() : nullptr;
  slot.batch.weight = source_->weighted() ? slot.weight.data() : nullptr;
}

template <class X, class Y, class T, class L>
void BatchCollator<X, Y, T, L>::weigh_classes(BatchBuffer<T, L>& slot) {
  if (options_.class_weight.empty()) return;
  std::size_t const ny = source_->y_size();
  reserve(slot.weight, sized_ ? capacity_ : slot.batch.rows);
  for (std::size_t row = 0; row < slot.batch.rows; ++row)
    slot.weight[row] = weight_of_class(options_.class_weight, slot.batch.y + row * ny, ny);
  slot.batch.weight = slot.weight.data();
}

}  // namespace trireme::data
