/// OperandCopies: operands of deferred products in memory that other processes read.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>

#include "trireme/backend/gemm/rows_view.hpp"
#include "trireme/core/row_range.hpp"
#include "trireme/layers/gradient_sink.hpp"
#include "trireme/strategies/data_parallel/product_list.hpp"

namespace trireme {

/// Room for the operands of a process's deferred products.
struct OperandRoom {
  std::size_t partitions;
  std::size_t products;  ///< of each partition
  std::size_t columns;   ///< of all operands of a sample

  /// Words of the list of all products.
  std::size_t list_words() const { return 1 + partitions * (1 + products * words_of_product); }
  static constexpr std::size_t words_of_product = 6;
};

/// Memory in which a process leaves the operands of its deferred products to the other processes of its node, with a
/// list of them. Each sample goes through a product once; others are not deferred.
template <class T>
class OperandCopies {
 public:
  OperandCopies() = default;
  /// Copies in `values`, with the list of them in `list`.
  OperandCopies(OperandRoom const& room, std::uint64_t* list, T* values) : room_(room), list_(list), values_(values) {}

  /// Begins a step of so many rows of this process, and of all, in so many partitions of all.
  /// \param copied  false if layers store their gradients in this step
  void begin(std::size_t rows, std::size_t all_rows, std::size_t all_partitions, bool copied);

  /// True if products of this step are copied.
  bool copies() const { return copies_; }
  /// Rows of the step's batch in all processes.
  std::size_t all_rows() const { return all_rows_; }
  /// Partitions of all processes.
  std::size_t all_partitions() const { return all_partitions_; }

  /// True if there is room for a product of a partition that has `columns` columns of operands already.
  bool has_room(std::size_t partition, std::size_t columns, std::size_t m, std::size_t n) const;
  /// Copies the operands of a product of a partition with these rows of the process, behind `columns` columns.
  void copy(std::size_t partition, RowRange const& rows, std::size_t columns, DeferredProduct<T> const& p,
            std::size_t offset);

 private:
  std::uint64_t* list_of(std::size_t partition) const;

  OperandRoom room_{};
  std::uint64_t* list_ = nullptr;
  T* values_ = nullptr;
  std::size_t all_rows_ = 0, all_partitions_ = 1;
  bool copies_ = false;
};

template <class T>
void OperandCopies<T>::begin(std::size_t rows, std::size_t all_rows, std::size_t all_partitions, bool copied) {
  all_rows_ = all_rows;
  all_partitions_ = all_partitions;
  copies_ = copied;
  list_[0] = static_cast<std::uint64_t>(rows > 0 && !copies_);
  for (std::size_t partition = 0; partition < room_.partitions; ++partition) *list_of(partition) = 0;
}

template <class T>
bool OperandCopies<T>::has_room(std::size_t partition, std::size_t columns, std::size_t m, std::size_t n) const {
  return *list_of(partition) < room_.products && columns + m + n <= room_.columns;
}

template <class T>
void OperandCopies<T>::copy(std::size_t partition, RowRange const& rows, std::size_t columns,
                            DeferredProduct<T> const& p, std::size_t offset) {
  std::size_t const x = rows.begin * room_.columns + (rows.end - rows.begin) * columns, dy = x + p.k * p.m;
  detail::gather_rows(p.x, p.k, p.m, values_ + x);
  std::copy_n(p.dy, p.k * p.n, values_ + dy);
  std::uint64_t* const list = list_of(partition);
  std::uint64_t* const words = list + 1 + (*list)++ * OperandRoom::words_of_product;
  std::ranges::copy(std::initializer_list<std::uint64_t>{p.m, p.n, p.k, offset, x, dy}, words);
}

template <class T>
std::uint64_t* OperandCopies<T>::list_of(std::size_t partition) const {
  return list_ + 1 + partition * (1 + room_.products * OperandRoom::words_of_product);
}

/// Reads the list that another process has left, of at most `products` products a partition, into those of its
/// partitions. \param arena  the process's gradients
template <class T>
void read_products(std::size_t products, std::uint64_t const* list, T const* operands, T const* arena,
                   std::span<ProductList<T>> partitions) {
  for (ProductList<T>& own : partitions) own.stored = nullptr;
  if (*list++ != 0) partitions.front().stored = arena;
  for (ProductList<T>& own : partitions) {
    own.products.clear();
    for (std::size_t i = 0; i < *list; ++i) {
      std::uint64_t const* const words = list + 1 + i * OperandRoom::words_of_product;
      own.insert({words[0], words[1], words[2], operands + words[4], operands + words[5], words[3]});
    }
    list += 1 + products * OperandRoom::words_of_product;
  }
}

}  // namespace trireme
