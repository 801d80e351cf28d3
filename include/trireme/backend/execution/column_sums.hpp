/// Sums over the rows of a matrix, column by column, on a host.
#pragma once

#include <cstddef>

namespace trireme::detail {

/// sums[j] = sum over the rows of term(row, j), for a block of columns.
template <class Sum, class Term>
struct SumsOfColumnBlock {
  static constexpr std::size_t block = 16;
  Term term;
  std::size_t rows, columns;
  Sum* sums;
  static constexpr std::size_t blocks(std::size_t columns) { return (columns + block - 1) / block; }
  void operator()(std::size_t index) const {
    std::size_t const begin = index * block, left = columns - begin, width = left < block ? left : block;
    Sum partial[block] = {};
    if (width == block) {  // of known length, so that it vectorises
      for (std::size_t row = 0; row < rows; ++row)
        for (std::size_t j = 0; j < block; ++j) partial[j] += term(row, begin + j);
    } else {
      for (std::size_t row = 0; row < rows; ++row)
        for (std::size_t j = 0; j < width; ++j) partial[j] += term(row, begin + j);
    }
    for (std::size_t j = 0; j < width; ++j) sums[begin + j] = partial[j];
  }
};

}  // namespace trireme::detail
