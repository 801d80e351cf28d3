/// DeferredProducts: gradients of large matrices that the threads of a step compute together after backward.
#pragma once

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

#include "trireme/backend/execution/parallelism.hpp"
#include "trireme/backend/gemm/cache_gemm.hpp"
#include "trireme/backend/gemm/pack.hpp"
#include "trireme/backend/gemm/product.hpp"
#include "trireme/layers/gradient.hpp"
#include "trireme/strategies/data_parallel/update_range.hpp"
#include "trireme/tensor/arena.hpp"

namespace trireme {

/// Matrix products that layers of all partitions defer until all of them are done: each thread then takes its rows of
/// each matrix, for the samples of all partitions, instead of the whole matrix for those of its own. So no partition
/// stores a gradient that another one reads and adds, and a block's weights may be updated while the block is in a
/// cache. Sums run over the partitions in order, as where these store their gradients.
template <class T>
class DeferredProducts {
 public:
  /// Products of so many partitions, none yet.
  explicit DeferredProducts(std::size_t partitions) : partitions_(partitions) {}

  /// Begins a step of so many rows in all partitions; 0: nothing is deferred.
  void begin(std::size_t rows) {
    rows_ = rows;
    for (Partition& partition : partitions_) partition.products.clear();
  }

  /// For the backward of a partition with so many rows, whose arena is `gradients`; null if it defers nothing.
  GradientSink<T>* sink(std::size_t partition, std::size_t rows, T const* gradients) {
    if (rows_ == 0 || rows == 0) return nullptr;
    Partition& own = partitions_[partition];
    own.rows = rows;
    own.all_rows = rows_;
    own.least_m = rows_of_a_thread * partitions_.size();
    own.arena = gradients;
    return &own;
  }

  /// Computes the blocks of one of `threads` threads: into the arena of partition 0, or for the update.
  void compute(ThreadContext const& context, std::size_t thread, std::size_t threads, T* arena,
               UpdateRange<T> const& update) const {
    for (std::size_t i = 0; i < products().size(); ++i) {
      Product const& p = products()[i];
      RowRange const own = row_range(p.m, thread, threads);
      kernels::GradientBlock const block = kernels::gradient_block<T>(p.n, p.k);
      std::size_t const blocks = (own.end - own.begin + block.rows - 1) / block.rows;
      for (std::size_t j = 0; j < p.n; j += block.columns) {
        std::size_t const width = std::min(block.columns, p.n - j);
        for (std::size_t b = 0; b < blocks; ++b) {
          RowRange const part = row_range(own.end - own.begin, b, blocks);
          std::size_t const begin = own.begin + part.begin, count = part.end - part.begin;
          std::size_t const offset = p.offset + begin * p.n + j;
          if (!update) {
            multiply(i, begin, count, j, width, arena + offset, p.n);
            continue;
          }
          T* const values = detail::pack_buffer<T, 2>(count * width);
          multiply(i, begin, count, j, width, values, width);
          if (width == p.n)
            update(context, offset, offset + count * width, values);
          else
            for (std::size_t row = 0; row < count; ++row)
              update(context, offset + row * p.n, offset + row * p.n + width, values + row * width);
        }
      }
    }
  }

  /// f(begin, end) for a thread's part of the `elements` of the arena that are not deferred, in whole cache lines.
  template <class F>
  void for_each_other(std::size_t thread, std::size_t threads, std::size_t elements, F const& f) const {
    std::size_t others = elements;
    for (Product const& product : products()) others -= product.end() - product.offset;
    constexpr std::size_t line = arena_alignment / sizeof(T);
    RowRange const lines = row_range((others + line - 1) / line, thread, threads);
    RowRange const own{lines.begin * line, std::min(lines.end * line, others)};  // counted without the deferred ones
    std::size_t counted = 0, begin = 0;
    auto const gap = [&](std::size_t end) {
      std::size_t const first = std::max(own.begin, counted), last = std::min(own.end, counted + (end - begin));
      if (first < last) f(begin + (first - counted), begin + (last - counted));
      counted += end - begin;
    };
    for (Product const& product : products()) {
      gap(product.offset);
      begin = product.end();
    }
    gap(elements);
  }

 private:
  /// Least rows of a matrix for a thread: with fewer it would mostly read the other operand.
  static constexpr std::size_t rows_of_a_thread = 8;

  struct Product {
    std::size_t m, n, k;
    T const *x, *dy;
    std::size_t offset;
    T const* const* x_rows;
    std::size_t end() const { return offset + m * n; }
  };

  struct Partition final : GradientSink<T> {
    std::vector<Product> products;  ///< by their offsets
    std::size_t rows = 0, all_rows = 0, least_m = 0;
    T const* arena = nullptr;

    void ready(T const*) override {}
    /// The same on all partitions, although some have a row less than others.
    bool defers(std::size_t m, std::size_t n, std::size_t k) override {
      return k % rows == 0 && m >= least_m && pays_to_defer(m, n, k / rows * all_rows);
    }
    void defer(DeferredProduct<T> const& p) override {
      Product const product{p.m, p.n, p.k, p.x, p.dy, static_cast<std::size_t>(p.gradients - arena), p.x_rows};
      auto const after = [&](Product const& other) { return other.offset > product.offset; };
      products.insert(std::find_if(products.begin(), products.end(), after), product);
    }
  };

  /// The products of the first partition that has any.
  std::vector<Product> const& products() const {
    for (Partition const& partition : partitions_)
      if (!partition.products.empty()) return partition.products;
    return partitions_.front().products;
  }

  /// c (rows, columns): a block of product i from `row` and `column` on, over the samples of all partitions.
  void multiply(std::size_t i, std::size_t row, std::size_t rows, std::size_t column, std::size_t columns, T* c,
                std::size_t ldc) const {
    bool first = true;
    for (Partition const& partition : partitions_) {
      if (partition.products.empty()) continue;
      Product const& p = partition.products[i];
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
                               .accumulate = !std::exchange(first, false),
                               .a_rows = p.x_rows};
      part.skip_left_rows(row);
      detail::cache_gemm(part);
    }
  }

  std::vector<Partition> partitions_;
  std::size_t rows_ = 0;
};

}  // namespace trireme
