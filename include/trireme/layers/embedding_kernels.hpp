/// Kernels of Embedding.
#pragma once

#include <cstddef>

#include <Kokkos_Macros.hpp>

namespace trireme::kernels {

/// The row of a table that an index in a floating-point scalar names; `rows` for a number that is no index.
template <class T>
KOKKOS_INLINE_FUNCTION std::size_t table_row(T index, std::size_t rows) {
  return index >= T{0} && index < static_cast<T>(rows) ? static_cast<std::size_t>(index) : rows;
}

template <class T>
struct LookUp {
  T const* indices;
  T const* table;
  T* y;
  std::size_t rows, columns;
  KOKKOS_FUNCTION void operator()(std::size_t position, std::size_t j) const {
    std::size_t const row = table_row(indices[position], rows);
    y[position * columns + j] = row < rows ? table[row * columns + j] : T{0};
  }
};

/// The rows of a table that the indices name become zero.
template <class T>
struct ClearRows {
  T const* indices;
  T* table;
  std::size_t rows, columns;
  KOKKOS_FUNCTION void operator()(std::size_t i, std::size_t j) const {
    std::size_t const row = table_row(indices[i], rows);
    if (row < rows) table[row * columns + j] = T{0};
  }
};

/// Rows that the indices name, each once, are added to those of another table.
template <class T>
struct AddTableRows {
  T const* indices;
  T const* from;
  T* to;
  std::size_t columns;
  KOKKOS_FUNCTION void operator()(std::size_t i, std::size_t j) const {
    std::size_t const at = static_cast<std::size_t>(indices[i]) * columns + j;
    to[at] += from[at];
  }
};

/// Records of an index and its row.
template <class T>
struct PackRows {
  T const* indices;
  T const* table;
  T* records;
  std::size_t columns;
  KOKKOS_FUNCTION void operator()(std::size_t i, std::size_t j) const {
    std::size_t const row = static_cast<std::size_t>(indices[i]);
    records[i * (columns + 1) + j] = j == 0 ? indices[i] : table[row * columns + j - 1];
  }
};
template <class T>
struct AddRows {
  T const* records;
  T* table;
  std::size_t columns;
  KOKKOS_FUNCTION void operator()(std::size_t i, std::size_t j) const {
    T const* const record = records + i * (columns + 1);
    table[static_cast<std::size_t>(record[0]) * columns + j] += record[j + 1];
  }
};
template <class T>
struct KeepIndices {
  T const* records;
  T* indices;
  std::size_t record;
  KOKKOS_FUNCTION void operator()(std::size_t i) const { indices[i] = records[i * record]; }
};

/// gradient[index of a position] += dy[position], for a block of columns: position after position, so that the sums of
/// an index that occurs several times do not depend on the thread that runs it.
template <class T>
struct AddToTable {
  static constexpr std::size_t block = 16;
  T const* indices;
  T const* dy;
  T* gradient;
  std::size_t positions, rows, columns;

  std::size_t blocks() const { return (columns + block - 1) / block; }
  KOKKOS_FUNCTION void operator()(std::size_t index) const {
    std::size_t const begin = index * block, left = columns - begin, width = left < block ? left : block;
    for (std::size_t position = 0; position < positions; ++position) {
      std::size_t const row = table_row(indices[position], rows);
      if (row == rows) continue;
      T const* const from = dy + position * columns + begin;
      T* const to = gradient + row * columns + begin;
      for (std::size_t j = 0; j < width; ++j) to[j] += from[j];
    }
  }
};

/// The same for the lanes of a device: the first position of an index adds the rows of all of its positions, in order.
template <class T>
struct AddToTableByIndex {
  AddToTable<T> add;
  template <class Lanes>
  KOKKOS_FUNCTION void operator()(std::size_t position, Lanes const& lanes) const {
    std::size_t const row = table_row(add.indices[position], add.rows);
    if (row == add.rows) return;
    auto const same = [&](std::size_t j) { return table_row(add.indices[j], add.rows) == row ? 1 : 0; };
    if (lanes.template sum<int>(position, same) > 0) return;
    T* const to = add.gradient + row * add.columns;
    for (std::size_t j = position; j < add.positions; ++j) {
      if (same(j) == 0) continue;
      T const* const from = add.dy + j * add.columns;
      lanes.for_each(add.columns, [&](std::size_t c) { to[c] += from[c]; });
    }
  }
};

}  // namespace trireme::kernels
