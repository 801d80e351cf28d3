/// Gathers scattered rows on the thread that will use them.
#pragma once

#include <algorithm>
#include <cstddef>

namespace trireme::detail {

/// Prefetches memory, which then arrives during other work.
template <class T>
void prefetch(T const* numbers, std::size_t count) {
  constexpr std::size_t line = std::max<std::size_t>(1, 64 / sizeof(T));
  for (std::size_t i = 0; i < count; i += line) __builtin_prefetch(numbers + i);
}

/// Copies scattered rows, a little at a time. Processors cannot predict the address of the next row, and would wait for
/// each: so memory is prefetched before it is copied.
template <class T>
class RowGather {
 public:
  RowGather() = default;
  /// `to` (last - first, size) receives the rows that `first` and its successors point to.
  RowGather(T const* const* first, T const* const* last, std::size_t size, T* to)
      : row_(first), last_(size == 0 ? first : last), size_(size), to_(to) {}

  /// Copies the rest of the rows.
  void finish() {
    constexpr std::ptrdiff_t ahead = 2;
    for (; row_ != last_; next_row()) {
      if (last_ - row_ > ahead) prefetch(row_[ahead], size_);
      copy(size_ - at_);
    }
  }

  /// While it lives, products on its thread advance a gather.
  class Meanwhile;

  /// Copies the next chunk. Products call it about once a microsecond.
  static void further() {
    if (current && current->row_ != current->last_) current->copy_chunk();
  }

 private:
  /// Numbers of a chunk: so many arrive between two calls, and all of a batch well before its step.
  static constexpr std::size_t chunk = 1024 / sizeof(T);

  [[gnu::noinline]] void copy_chunk() {
    copy(std::min(chunk, size_ - at_));
    if (at_ == size_) next_row();
    if (row_ != last_) prefetch(*row_ + at_, std::min(chunk, size_ - at_));
  }
  void copy(std::size_t count) {
    std::copy_n(*row_ + at_, count, to_);
    at_ += count;
    to_ += count;
  }
  void next_row() {
    ++row_;
    at_ = 0;
  }

  static inline constinit thread_local RowGather* current = nullptr;

  T const* const* row_ = nullptr;
  T const* const* last_ = nullptr;
  std::size_t size_ = 0, at_ = 0;  ///< of a row
  T* to_ = nullptr;
};

/// Works on a copy that shares no cache line with other threads'.
template <class T>
class RowGather<T>::Meanwhile {
 public:
  explicit Meanwhile(RowGather& gather) : origin_(gather), own_(gather) { current = &own_; }
  ~Meanwhile() {
    current = nullptr;
    origin_ = own_;
  }
  Meanwhile(Meanwhile const&) = delete;
  Meanwhile& operator=(Meanwhile const&) = delete;

 private:
  RowGather& origin_;
  RowGather own_;
};

}  // namespace trireme::detail
