/// SpaceContext of a host space: its threads work on each kernel.
#pragma once

#include <algorithm>
#include <cstddef>

#include <Kokkos_Core.hpp>

#include "trireme/backend/execution/column_sums.hpp"
#include "trireme/backend/execution/lanes.hpp"
#include "trireme/backend/execution/running.hpp"
#include "trireme/backend/execution/statistics_scope.hpp"
#include "trireme/backend/execution/views.hpp"
#include "trireme/backend/gemm/product.hpp"
#include "trireme/backend/gemm/split_gemm.hpp"
#include "trireme/backend/simd/simd.hpp"
#include "trireme/backend/threads/elements.hpp"
#include "trireme/backend/threads/host_context.hpp"
#include "trireme/backend/threads/host_loop.hpp"
#include "trireme/backend/threads/profiling.hpp"

namespace trireme {

/// The execution context of a whole space: space_context.hpp.
template <class Space>
class SpaceContext;

namespace detail {

/// Elements of an element-wise kernel that one host thread takes at once, in a vectorised loop.
inline constexpr std::size_t element_block = 4096;

template <class F>
struct BlockedElements {
  F f;
  std::size_t n;
  void operator()(std::size_t block) const {
    for_each_element(block * element_block, std::min(n, (block + 1) * element_block), f);
  }
};

template <class F>
struct RowElements {
  F f;
  std::size_t columns;
  void operator()(std::size_t i) const {
    TRIREME_SIMD
    for (std::size_t j = 0; j < columns; ++j) f(i, j);
  }
};

/// Sums of fixed blocks, so that the result does not depend on the number of threads.
template <class F>
struct BlockSums {
  F f;
  std::size_t n;
  std::size_t block;
  double* partial;
  void operator()(std::size_t b) const {
    double* sums = partial + b * F::width;
    std::fill_n(sums, F::width, 0.0);
    std::size_t const end = std::min(n, (b + 1) * block);
    for (std::size_t i = b * block; i < end; ++i) f(i, sums);
  }
};

/// Columns and rows of a matrix that one host thread sums up at once: the sums stay in registers and the first cache.
inline constexpr std::size_t sum_columns = 256, sum_rows = 256;

/// Sums of the columns of fixed blocks of rows, as rows of `sums`.
template <class T>
struct BlockColumnSums {
  T const* x;
  T* sums;
  std::size_t rows, columns, row_blocks;
  void operator()(std::size_t block) const {
    std::size_t const first_row = block % row_blocks * sum_rows, first = block / row_blocks * sum_columns;
    std::size_t const height = std::min(rows - first_row, sum_rows), width = std::min(columns - first, sum_columns);
    T block_sums[sum_columns];
    std::fill_n(block_sums, width, T{0});
    for (std::size_t i = 0; i < height; ++i) {
      T const* const row = x + (first_row + i) * columns + first;
      TRIREME_SIMD
      for (std::size_t j = 0; j < width; ++j) block_sums[j] += row[j];
    }
    std::copy_n(block_sums, width, sums + block % row_blocks * columns + first);
  }
};

}  // namespace detail

/// Kernels are divided among the threads of the space.
template <class Space>
  requires is_host_space<Space>
class SpaceContext<Space> {
 public:
  using memory_space = typename Space::memory_space;
  static constexpr bool owns_rows = false;

  /// Context of the whole space.
  explicit SpaceContext(Space const& space = default_space<Space>()) : space_(space) {}

  /// Threads of the space.
  std::size_t threads() const { return threads_; }
  /// Execution space.
  Space const& space() const { return space_; }
  /// Waits for all work of the space so far.
  void fence(char const* label) const { space_.fence(tool_label(label)); }

  template <class F>
  void for_each(char const* label, std::size_t n, F const& f) const {
    detail::host_loop(space_, detail::threads_for(threads_, n), label, blocks_of(n, detail::element_block),
                      detail::BlockedElements<F>{f, n});
  }
  template <class F>
  void for_each(char const* label, std::size_t rows, std::size_t columns, F const& f) const {
    detail::host_loop(space_, detail::threads_for(threads_, rows * columns), label, rows,
                      detail::RowElements<F>{f, columns});
  }

  template <class F>
  void for_rows(char const* label, std::size_t n, F const& f) const {
    detail::host_loop(space_, threads_, label, n, f);
  }
  template <class F>
  void for_rows(char const* label, std::size_t rows, std::size_t /*columns*/, F const& f) const {
    for_rows(label, rows, detail::OfOneLane<F>{f});
  }

  template <class F>
  void accumulate(char const* label, std::size_t n, F const& f, double* totals) {
    constexpr std::size_t block = 256;
    std::size_t const blocks = blocks_of(n, block);
    double* const partial = scratch(blocks * F::width);
    for_rows(label, blocks, detail::BlockSums<F>{f, n, block, partial});
    fence("trireme: partial sums complete");
    for (std::size_t b = 0; b < blocks; ++b)
      for (std::size_t w = 0; w < F::width; ++w) totals[w] += partial[b * F::width + w];
  }

  /// Of blocks of rows, then of blocks of their sums, until one is left: independent of the number of threads.
  template <class T>
  void column_sums(char const* label, std::size_t rows, std::size_t columns, T const* x, T* sums) {
    std::size_t const most = rows > detail::sum_rows ? 2 * blocks_of(rows, detail::sum_rows) * columns : 0;
    T* partial = reinterpret_cast<T*>(scratch(blocks_of(most * sizeof(T), sizeof(double))));
    while (rows > detail::sum_rows) {
      std::size_t const blocks = blocks_of(rows, detail::sum_rows);
      sum_blocks(label, detail::BlockColumnSums<T>{x, partial, rows, columns, blocks});
      x = partial;
      partial += blocks * columns;
      rows = blocks;
    }
    sum_blocks(label, detail::BlockColumnSums<T>{x, sums, rows, columns, 1});
  }

  template <class Sum, class Term>
  void sum_columns(char const* label, std::size_t rows, std::size_t columns, Term const& term, Sum* sums) const {
    using Block = detail::SumsOfColumnBlock<Sum, Term>;
    for_rows(label, Block::blocks(columns), Block{term, rows, columns, sums});
  }

  template <class T>
  void gemm(Product<T> const& product) const {
    detail::split_gemm(space_, threads_, product);
  }

  static constexpr std::size_t convolution_chunk(std::size_t bytes_per_sample) {
    return detail::convolution_chunk_of_space(bytes_per_sample);
  }

  /// Sum over processes of which `cross_replica_sum` makes use; null: the slice has all rows.
  void set_exchange(StatisticsSum* exchange) { exchange_ = exchange; }

  void cross_replica_sum(double* values, std::size_t count, StatisticsScope scope) {
    if (!exchange_ || scope != StatisticsScope::global) return;
    fence("trireme: sums of rows complete");
    exchange_->sum(values, count, scope);
  }

 private:
  static constexpr std::size_t blocks_of(std::size_t n, std::size_t block) { return (n + block - 1) / block; }

  template <class T>
  void sum_blocks(char const* label, detail::BlockColumnSums<T> const& kernel) const {
    for_rows(label, kernel.row_blocks * blocks_of(kernel.columns, detail::sum_columns), kernel);
  }

  double* scratch(std::size_t count) {
    if (scratch_.extent(0) < count)
      scratch_ = Kokkos::View<double*, memory_space>(
          Kokkos::view_alloc(Kokkos::WithoutInitializing, "trireme::partial_sums"), count);
    return scratch_.data();
  }

  Space space_;
  StatisticsSum* exchange_ = nullptr;
  std::size_t threads_ = static_cast<std::size_t>(space_.concurrency());
  Kokkos::View<double*, memory_space> scratch_;
};

}  // namespace trireme
