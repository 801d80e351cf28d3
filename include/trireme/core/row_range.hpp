/// Division of rows into parts.
#pragma once

#include <cstddef>

namespace trireme {

/// The rows [begin, end).
struct RowRange {
  std::size_t begin, end;

  /// Number of rows.
  constexpr std::size_t size() const { return end - begin; }
  /// True without rows.
  constexpr bool empty() const { return begin == end; }
};

/// The rows of part `index` of `count`: as even as possible, possibly none.
constexpr RowRange row_range(std::size_t rows, std::size_t index, std::size_t count) {
  return {rows * index / count, rows * (index + 1) / count};
}

}  // namespace trireme
