/// Copies of scattered rows, by the thread that uses them.
#pragma once

#include <algorithm>
#include <cstddef>

#include "trireme/backend/gemm/rows_view.hpp"

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
