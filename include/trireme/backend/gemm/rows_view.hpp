/// RowsView: rows of numbers, as batches, the inputs of layers and matrix products share them; copies of scattered
/// ones.
#pragma once

#include <algorithm>
#include <cstddef>

#include <Kokkos_Macros.hpp>

namespace trireme {

/// Rows in one block, or scattered over memory with a pointer to each, which readers then gather or read in place.
/// The address of a block converts to a view, but no view to an address, as that would lose scattered rows unseen. Rows
/// that are scattered lie in host memory.
template <class T>
class RowsView {
 public:
  constexpr RowsView() = default;
  /// Rows that follow each other from `block` on, at a distance that readers know.
  KOKKOS_FUNCTION constexpr RowsView(T const* block) : block_(block) {}
  /// Rows that `rows` points to, one by one.
  static constexpr RowsView scattered(T const* const* rows) {
    RowsView view;
    view.rows_ = rows;
    return view;
  }

  /// Address of the block; null if the rows are scattered. For readers that no scattered rows reach, or that look for
  /// them too.
  KOKKOS_FUNCTION constexpr T const* block() const { return block_; }
  /// True if there is a pointer to each row instead of a block.
  constexpr bool is_scattered() const { return rows_ != nullptr; }
  /// Pointers to scattered rows, of which numbers are used from index `first` on.
  constexpr T const* const* rows() const { return rows_; }
  /// Index of the first number used of scattered rows.
  constexpr std::size_t first() const { return first_; }

  /// Address of row i; `pitch` is the distance between rows of a block.
  constexpr T const* row(std::size_t i, std::size_t pitch) const {
    return rows_ ? rows_[i] + first_ : block_ + i * pitch;
  }
  /// The rows from i on.
  constexpr RowsView from_row(std::size_t i, std::size_t pitch) const {
    RowsView rest = *this;
    if (rows_)
      rest.rows_ += i;
    else if (block_)
      rest.block_ += i * pitch;
    return rest;
  }
  /// The rows without their first i numbers.
  constexpr RowsView from_column(std::size_t i) const {
    RowsView rest = *this;
    if (rows_)
      rest.first_ += i;
    else
      rest.block_ += i;
    return rest;
  }

 private:
  T const* block_ = nullptr;
  T const* const* rows_ = nullptr;
  std::size_t first_ = 0;
};

}  // namespace trireme

namespace trireme::detail {

/// Prefetches memory, which then arrives during other work.
template <class T>
void prefetch(T const* numbers, std::size_t count) {
  constexpr std::size_t line = std::max<std::size_t>(1, 64 / sizeof(T));
  for (std::size_t i = 0; i < count; i += line) __builtin_prefetch(numbers + i);
}

/// to (count, size) = the first `count` of these rows. Processors cannot predict the address of the next scattered row,
/// and would wait for each: so memory is prefetched before it is copied.
template <class T>
void gather_rows(RowsView<T> const& rows, std::size_t count, std::size_t size, T* to) {
  if (!rows.is_scattered()) {
    std::copy_n(rows.row(0, size), count * size, to);
    return;
  }
  constexpr std::size_t ahead = 2;
  for (std::size_t i = 0; i < count; ++i) {
    if (i + ahead < count) prefetch(rows.row(i + ahead, size), size);
    std::copy_n(rows.row(i, size), size, to + i * size);
  }
}

}  // namespace trireme::detail
