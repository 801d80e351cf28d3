/// Puts rows that lie apart together, on the thread that will use them.
#pragma once

#include <algorithm>
#include <cstddef>

namespace trireme::detail {

/// Asks for the memory of a row, so that it is on its way while something else is done.
template <class T>
void prefetch_row(T const* row, std::size_t size) {
  constexpr std::size_t line = std::max<std::size_t>(1, 64 / sizeof(T));
  for (std::size_t i = 0; i < size; i += line) __builtin_prefetch(row + i);
}

/// out (count, size) = the rows. Rows that are far apart in memory would be waited for one after the other: the next
/// ones are asked for beforehand.
template <class T>
void gather_rows(T const* const* rows, std::size_t count, std::size_t size, T* out) {
  constexpr std::size_t ahead = 2;
  for (std::size_t row = 0; row < std::min(ahead, count); ++row) prefetch_row(rows[row], size);
  for (std::size_t row = 0; row < count; ++row) {
    if (row + ahead < count) prefetch_row(rows[row + ahead], size);
    std::copy_n(rows[row], size, out + row * size);
  }
}

}  // namespace trireme::detail
