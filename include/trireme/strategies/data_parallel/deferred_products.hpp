/// DeferredProducts: gradients of large matrices that the threads of a step compute together after backward.
#pragma once

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

#include "trireme/backend/execution/thread_context.hpp"
#include "trireme/backend/gemm/cache_gemm.hpp"
#include "trireme/backend/gemm/pack.hpp"
#include "trireme/backend/gemm/product.hpp"
#include "trireme/core/row_range.hpp"
#include "trireme/layers/gradient.hpp"
#include "trireme/layers/gradient_sink.hpp"
#include "trireme/strategies/data_parallel/operand_copies.hpp"
#include "trireme/strategies/data_parallel/product_list.hpp"
#include "trireme/strategies/data_parallel/update_range.hpp"
#include "trireme/tensor/arena.hpp"

namespace trireme {

/// Matrix products that layers of all partitions defer until all of them are done: each thread then takes its rows of
/// each matrix, for the samples of all partitions, instead of the whole matrix for those of its own. So no partition
/// stores a gradient that another one reads and adds, and a block's weights may be updated while the block is in a
/// cache. Sums run over the partitions in order, as where these store their gradients. Partitions of other processes of
/// the node take part through OperandCopies.
template <class T>
class DeferredProducts {
  using Product = typename ProductList<T>::Product;

 public:
  /// Products of so many partitions, which at most so many threads compute; none yet.
  DeferredProducts(std::size_t partitions, std::size_t threads) : partitions_(partitions), threads_(threads) {}

  /// Begins a step of so many rows in all partitions; 0: nothing is deferred.
  /// \param copies  null if no other process has rows.
  void begin(std::size_t rows, OperandCopies<T>* copies = nullptr);

  /// For the backward of a partition with these rows, whose arena is `gradients`; null if it defers nothing.
  GradientSink<T>* sink(std::size_t partition, RowRange const& rows, T const* gradients);

  /// Puts the products of all processes in the place of this one's, once all of them are complete.
  void join(std::vector<ProductList<T>> const& all);

  /// Computes the blocks of one of `threads` threads, of the elements `own` of the arena: into the arena of partition
  /// 0, or for the update.
  void compute(ThreadContext const& context, std::size_t thread, std::size_t threads, RowRange const& own, T* arena,
               UpdateRange<T> const& update) const;

  /// f(begin, end) for a thread's part of the elements `own` of the arena that are not deferred, in whole cache lines.
  template <class F>
  void for_each_other(std::size_t thread, std::size_t threads, RowRange const& own, F const& f) const {
    std::size_t others = 0;
    for_each_gap(own, [&](std::size_t begin, std::size_t end) { others += end - begin; });
    constexpr std::size_t line = arena_alignment / sizeof(T);
    RowRange const lines = row_range((others + line - 1) / line, thread, threads);
    RowRange const mine{lines.begin * line, std::min(lines.end * line, others)};  // counted without the deferred ones
    std::size_t counted = 0;
    for_each_gap(own, [&](std::size_t begin, std::size_t end) {
      std::size_t const first = std::max(mine.begin, counted), last = std::min(mine.end, counted + (end - begin));
      if (first < last) f(begin + (first - counted), begin + (last - counted));
      counted += end - begin;
    });
  }

 private:
  /// Least rows of a matrix for a thread: with fewer it would mostly read the other operand.
  static constexpr std::size_t rows_of_a_thread = 8;

  struct Partition final : GradientSink<T> {
    ProductList<T> list;
    OperandCopies<T>* copies = nullptr;
    std::size_t index = 0, all_rows = 0, least_m = 0, columns = 0;
    RowRange rows{0, 0};
    T const* arena = nullptr;

    std::size_t count() const { return rows.end - rows.begin; }
    void ready(T const*) override {}
    /// The same on all partitions, although some have a row less than others.
    bool defers(std::size_t m, std::size_t n, std::size_t k) override {
      if (copies && (k != count() || !copies->has_room(index, columns, m, n))) return false;
      return k % count() == 0 && m >= least_m && pays_to_defer(m, n, k / count() * all_rows);
    }
    void defer(DeferredProduct<T> const& p) override {
      auto const offset = static_cast<std::size_t>(p.gradients - arena);
      if (copies) {
        copies->copy(index, rows, columns, p, offset);
        columns += p.m + p.n;
      }
      list.insert({p.m, p.n, p.k, p.x, p.dy, offset});
    }
  };

  /// The products of the first partition that has any.
  std::vector<Product> const& products() const;

  /// Rows of a matrix with elements in `own`, of those a thread's.
  static RowRange rows_of_thread(Product const& p, RowRange const& own, std::size_t thread, std::size_t threads);

  /// f(begin, end) for the elements of `own` between the deferred ones.
  template <class F>
  void for_each_gap(RowRange const& own, F const& f) const {
    std::size_t begin = own.begin;
    auto const gap = [&](std::size_t end) {
      if (begin < end) f(begin, end);
    };
    for (Product const& product : products()) {
      gap(std::min(product.offset, own.end));
      begin = std::max(begin, product.end());
    }
    gap(own.end);
  }

  /// c (rows, columns): a block of product i from `row` and `column` on, over the samples of all partitions.
  void multiply(std::size_t i, std::size_t row, std::size_t rows, std::size_t column, std::size_t columns, T* c,
                std::size_t ldc) const;

  static void add(T const* from, std::size_t ld, std::size_t rows, std::size_t columns, T* c, std::size_t ldc,
                  bool accumulate);

  std::vector<Partition> partitions_;
  std::vector<ProductList<T> const*> lists_;  ///< of all partitions whose products are summed up
  OperandCopies<T>* copies_ = nullptr;
  std::size_t threads_, rows_ = 0;
};

template <class T>
void DeferredProducts<T>::begin(std::size_t rows, OperandCopies<T>* copies) {
  rows_ = copies ? (copies->copies() ? copies->all_rows() : 0) : rows;
  copies_ = copies;
  lists_.clear();
  for (Partition& partition : partitions_) {
    partition.list.products.clear();
    lists_.push_back(&partition.list);
  }
}

template <class T>
GradientSink<T>* DeferredProducts<T>::sink(std::size_t partition, RowRange const& rows, T const* gradients) {
  if (rows_ == 0 || rows.begin == rows.end) return nullptr;
  Partition& own = partitions_[partition];
  own.index = partition;
  own.rows = rows;
  own.all_rows = rows_;
  own.least_m = rows_of_a_thread * (copies_ ? copies_->all_partitions() : threads_);
  own.arena = gradients;
  own.copies = copies_;
  own.columns = 0;
  return &own;
}

template <class T>
void DeferredProducts<T>::join(std::vector<ProductList<T>> const& all) {
  lists_.clear();
  for (ProductList<T> const& list : all) lists_.push_back(&list);
}

template <class T>
void DeferredProducts<T>::compute(ThreadContext const& context, std::size_t thread, std::size_t threads,
                                  RowRange const& own, T* arena, UpdateRange<T> const& update) const {
  for (std::size_t i = 0; i < products().size(); ++i) {
    Product const& p = products()[i];
    RowRange const rows = rows_of_thread(p, own, thread, threads);
    kernels::GradientBlock const block = kernels::gradient_block<T>(p.n, p.k);
    std::size_t const blocks = (rows.end - rows.begin + block.rows - 1) / block.rows;
    for (std::size_t j = 0; j < p.n; j += block.columns) {
      std::size_t const width = std::min(block.columns, p.n - j);
      for (std::size_t b = 0; b < blocks; ++b) {
        RowRange const part = row_range(rows.end - rows.begin, b, blocks);
        std::size_t const begin = rows.begin + part.begin, count = part.end - part.begin;
        std::size_t const offset = p.offset + begin * p.n + j;
        if (!update) {
          multiply(i, begin, count, j, width, arena + offset, p.n);
          continue;
        }
        T* const values = detail::pack_buffer<T, 2>(count * width);
        multiply(i, begin, count, j, width, values, width);
        // A row that two processes share is computed by both.
        auto const take = [&](std::size_t at, std::size_t n, T const* from) {
          std::size_t const first = std::max(at, own.begin), last = std::min(at + n, own.end);
          if (first < last) update(context, first, last, from + (first - at));
        };
        if (width == p.n)
          take(offset, count * width, values);
        else
          for (std::size_t row = 0; row < count; ++row) take(offset + row * p.n, width, values + row * width);
      }
    }
  }
}

template <class T>
std::vector<typename DeferredProducts<T>::Product> const& DeferredProducts<T>::products() const {
  for (ProductList<T> const* list : lists_)
    if (!list->products.empty()) return list->products;
  static std::vector<Product> const none;
  return none;
}

template <class T>
RowRange DeferredProducts<T>::rows_of_thread(Product const& p, RowRange const& own, std::size_t thread,
                                             std::size_t threads) {
  std::size_t const begin = std::max(own.begin, p.offset), end = std::min(own.end, p.end());
  if (begin >= end) return {0, 0};
  std::size_t const first = (begin - p.offset) / p.n, last = (end - p.offset + p.n - 1) / p.n;
  RowRange const rows = row_range(last - first, thread, threads);
  return {first + rows.begin, first + rows.end};
}

template <class T>
void DeferredProducts<T>::multiply(std::size_t i, std::size_t row, std::size_t rows, std::size_t column,
                                   std::size_t columns, T* c, std::size_t ldc) const {
  bool first = true;
  for (ProductList<T> const* list : lists_) {
    if (list->stored) {
      Product const& p = products()[i];
      add(list->stored + p.offset + row * p.n + column, p.n, rows, columns, c, ldc, !std::exchange(first, false));
    }
    if (list->products.empty()) continue;
    Product const& p = list->products[i];
    trireme::Product<T> part{.m = rows,
                             .n = columns,
                             .k = p.k,
                             .a = p.x,
                             .lda = p.m,
                             .b = p.dy + column,
                             .ldb = p.n,
                             .c = c,
                             .ldc = ldc,
                             .transpose_a = true,
                             .accumulate = !std::exchange(first, false)};
    part.skip_left_rows(row);
    detail::cache_gemm(part);
  }
}

template <class T>
void DeferredProducts<T>::add(T const* from, std::size_t ld, std::size_t rows, std::size_t columns, T* c,
                              std::size_t ldc, bool accumulate) {
  for (std::size_t row = 0; row < rows; ++row)
    for (std::size_t j = 0; j < columns; ++j)
      c[row * ldc + j] = (accumulate ? c[row * ldc + j] : T{0}) + from[row * ld + j];
}

#ifdef TRIREME_COMPILED
extern template struct ProductList<float>;
extern template struct ProductList<double>;
extern template class OperandCopies<float>;
extern template class OperandCopies<double>;
extern template class DeferredProducts<float>;
extern template class DeferredProducts<double>;
#endif

}  // namespace trireme
