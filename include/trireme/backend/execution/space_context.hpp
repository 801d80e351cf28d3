/// The execution context of a whole execution space: all threads of a host, or a stream of a device, work on each
/// kernel.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>

#include <Kokkos_Core.hpp>

#include "trireme/backend/execution/column_sums.hpp"
#include "trireme/backend/execution/lanes.hpp"
#include "trireme/backend/execution/running.hpp"
#include "trireme/backend/execution/statistics_scope.hpp"
#include "trireme/backend/execution/views.hpp"
#include "trireme/backend/gemm/device_blas.hpp"
#include "trireme/backend/gemm/product.hpp"
#include "trireme/backend/gemm/split_gemm.hpp"
#include "trireme/backend/simd/simd.hpp"
#include "trireme/backend/threads/elements.hpp"
#include "trireme/backend/threads/host_loop.hpp"
#include "trireme/backend/threads/profiling.hpp"

namespace trireme {

/// True if kernels of the space work in memory that the host can read, with host libraries.
template <class Space>
inline constexpr bool is_host_space =
    Kokkos::SpaceAccessibility<Kokkos::DefaultHostExecutionSpace, typename Space::memory_space>::accessible;

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

template <class F>
struct FlatElements {
  F f;
  std::size_t columns;
  bool short_index;  ///< 32 bits suffice: a device divides those several times as fast
  KOKKOS_FUNCTION void operator()(std::size_t e) const {
    if (short_index) {
      auto const index = static_cast<std::uint32_t>(e), width = static_cast<std::uint32_t>(columns);
      std::uint32_t const row = index / width;
      f(row, index - row * width);
    } else {
      f(e / columns, e % columns);
    }
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

template <class F>
struct ArrayReduction {
  using value_type = double[];
  using size_type = std::size_t;
  std::size_t value_count = F::width;
  F f;
  KOKKOS_FUNCTION void operator()(std::size_t i, double* sums) const { f(i, sums); }
  KOKKOS_FUNCTION void init(double* sums) const {
    for (std::size_t w = 0; w < value_count; ++w) sums[w] = 0;
  }
  KOKKOS_FUNCTION void join(double* sums, double const* other) const {
    for (std::size_t w = 0; w < value_count; ++w) sums[w] += other[w];
  }
};

struct AddTotals {
  double const* sums;
  double* totals;
  KOKKOS_FUNCTION void operator()(std::size_t w) const { totals[w] += sums[w]; }
};

/// Columns and rows of a matrix that one host thread sums up at once: the sums stay in registers and the first cache.
inline constexpr std::size_t sum_columns = 256, cross_replica_sum = 256;

/// Sums of the columns of fixed blocks of rows, as rows of `sums`.
template <class T>
struct BlockColumnSums {
  T const* x;
  T* sums;
  std::size_t rows, columns, row_blocks;
  void operator()(std::size_t block) const {
    std::size_t const first_row = block % row_blocks * cross_replica_sum, first = block / row_blocks * sum_columns;
    std::size_t const height = std::min(rows - first_row, cross_replica_sum),
                      width = std::min(columns - first, sum_columns);
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

/// Members and promises as in ThreadContext. Calls return when the work is enqueued; `fence` waits for it.
template <class Space>
class SpaceContext {
 public:
  using memory_space = typename Space::memory_space;
  static constexpr bool on_host = is_host_space<Space>;
  static constexpr bool owns_rows = false;

  explicit SpaceContext(Space const& space = detail::default_space<Space>()) : space_(space), blas_(space) {}

  /// Threads among which kernels are divided: those of a host space.
  std::size_t threads() const { return threads_; }

  Space const& space() const { return space_; }
  void fence(char const* label) const { space_.fence(tool_label(label)); }

  template <class F>
  void for_each(char const* label, std::size_t n, F const& f) const {
    if constexpr (on_host) {
      detail::host_loop(space_, detail::threads_for(threads_, n), label, blocks_of(n, detail::element_block),
                        detail::BlockedElements<F>{f, n});
    } else {
      run(label, n, f);
    }
  }

  template <class F>
  void for_each(char const* label, std::size_t rows, std::size_t columns, F const& f) const {
    if constexpr (on_host)
      detail::host_loop(space_, detail::threads_for(threads_, rows * columns), label, rows,
                        detail::RowElements<F>{f, columns});
    else
      run(label, rows * columns,
          detail::FlatElements<F>{f, columns, rows * columns <= std::numeric_limits<std::uint32_t>::max()});
  }

  template <class F>
  void for_rows(char const* label, std::size_t n, F const& f) const {
    run(label, n, f);
  }

  template <class F>
  void for_rows(char const* label, std::size_t rows, std::size_t columns, F const& f) const {
    if constexpr (on_host) {
      run(label, rows, detail::OfOneLane<F>{f});
    } else if (rows > 0) {
      using Rows = detail::OfTeamLanes<F, Space>;
      std::size_t const lanes = detail::lanes_for(columns), threads = team_lanes / lanes;
      Kokkos::parallel_for(tool_label(label), teams((rows + threads - 1) / threads, threads, lanes), Rows{f, rows});
    }
  }

  template <class F>
  void accumulate(char const* label, std::size_t n, F const& f, double* totals) {
    if constexpr (on_host) {
      constexpr std::size_t block = 256;
      std::size_t const blocks = blocks_of(n, block);
      double* const partial = scratch(blocks * F::width);
      run(label, blocks, detail::BlockSums<F>{f, n, block, partial});
      fence("trireme: partial sums complete");
      for (std::size_t b = 0; b < blocks; ++b)
        for (std::size_t w = 0; w < F::width; ++w) totals[w] += partial[b * F::width + w];
    } else {
      double* const sums = scratch(F::width);
      Kokkos::View<double*, memory_space, Kokkos::MemoryUnmanaged> result(sums, F::width);
      Kokkos::parallel_reduce(tool_label(label), policy(n), detail::ArrayReduction<F>{F::width, f}, result);
      run(label, F::width, detail::AddTotals{sums, totals});
    }
  }

  template <class T>
  void column_sums(char const* label, std::size_t rows, std::size_t columns, T const* x, T* sums) {
    if constexpr (on_host) {
      // Blocks of rows, then blocks of their sums, until one is left: independent of the number of threads.
      std::size_t const most =
          rows > detail::cross_replica_sum ? 2 * blocks_of(rows, detail::cross_replica_sum) * columns : 0;
      T* partial = reinterpret_cast<T*>(scratch(blocks_of(most * sizeof(T), sizeof(double))));
      while (rows > detail::cross_replica_sum) {
        std::size_t const blocks = blocks_of(rows, detail::cross_replica_sum);
        sum_blocks(label, detail::BlockColumnSums<T>{x, partial, rows, columns, blocks});
        x = partial;
        partial += blocks * columns;
        rows = blocks;
      }
      sum_blocks(label, detail::BlockColumnSums<T>{x, sums, rows, columns, 1});
    } else {
      sum_columns(label, rows, columns, detail::MatrixElement<T>{x, columns}, sums);
    }
  }

  template <class Sum, class Term>
  void sum_columns(char const* label, std::size_t rows, std::size_t columns, Term const& term, Sum* sums) {
    if constexpr (on_host) {
      using Block = detail::SumsOfColumnBlock<Sum, Term>;
      run(label, Block::blocks(columns), Block{term, rows, columns, sums});
    } else if (rows == 0) {
      Kokkos::deep_copy(space_, Kokkos::View<Sum*, memory_space, Kokkos::MemoryUnmanaged>(sums, columns), Sum{0});
    } else if (columns > 0) {
      using First = detail::TeamColumnSums<Sum, Term, Space>;
      First const blocks(term, rows, columns, sums);
      if (blocks.row_blocks() == 1) return sum_blocks(label, blocks);
      // Blocks of rows, then blocks of their sums, until one is left.
      static_assert(sizeof(Sum) <= sizeof(double));
      std::size_t const first = blocks.row_blocks() * columns;
      Sum* from = reinterpret_cast<Sum*>(scratch(2 * first));
      Sum* to = from + first;
      sum_blocks(label, First(term, rows, columns, from));
      for (std::size_t left = blocks.row_blocks(); left > 1;) {
        using Next = detail::TeamColumnSums<Sum, detail::MatrixElement<Sum>, Space>;
        Next next({from, columns}, left, columns, to);
        left = next.row_blocks();
        if (left == 1) next.sums = sums;
        sum_blocks(label, next);
        from = std::exchange(to, to + left * columns);
      }
    }
  }

  template <class T>
  void gemm(Product<T> const& product) const {
    if constexpr (on_host)
      detail::split_gemm(space_, threads_, product);
    else
      blas_.gemm(space_, ProductBatch<T>{product});
  }
  /// On a device; `trireme::gemm_batch` takes any context.
  template <class T>
  void gemm_batch(ProductBatch<T> const& batch) const {
    blas_.gemm(space_, batch);
  }

  /// Samples whose patches a convolution unfolds at once: as many as fit in 64 MB.
  static constexpr std::size_t convolution_chunk(std::size_t bytes_per_sample) {
    return std::max<std::size_t>(1, (std::size_t{64} << 20) / std::max<std::size_t>(1, bytes_per_sample));
  }

  /// Sends sums of rows through `exchange`; null: the slice has all rows of the batch.
  void set_exchange(StatisticsSum* exchange) { exchange_ = exchange; }

  /// As ThreadContext's; values lie in the space's memory. The whole space works on a replica, so that only sums over
  /// the global batch leave it.
  void cross_replica_sum(double* values, std::size_t count, StatisticsScope scope) {
    if (!exchange_ || scope != StatisticsScope::global) return;
    fence("trireme: sums of rows complete");
    if constexpr (on_host) {
      exchange_->sum(values, count, scope);
    } else {
      Kokkos::View<double*, memory_space, Kokkos::MemoryUnmanaged> const device(values, count);
      auto const host = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), device);
      exchange_->sum(host.data(), count, scope);
      copy_view(space_, device, host);
    }
  }

 private:
  /// Threads of a team times their vector lanes, where each works alone.
  static constexpr std::size_t team_lanes = 128;

  auto teams(std::size_t league, std::size_t threads, std::size_t lanes) const {
    return Kokkos::TeamPolicy<Space>(space_, static_cast<int>(league), static_cast<int>(threads),
                                     static_cast<int>(lanes));
  }

  template <class Sum, class Term>
  void sum_blocks(char const* label, detail::TeamColumnSums<Sum, Term, Space> const& kernel) const {
    Kokkos::parallel_for(tool_label(label),
                         teams(kernel.teams(), kernel.threads(), kernel.lanes)
                             .set_scratch_size(0, Kokkos::PerTeam(static_cast<int>(kernel.scratch_bytes()))),
                         kernel);
  }

  auto policy(std::size_t n) const { return Kokkos::RangePolicy<Space, Kokkos::IndexType<std::size_t>>(space_, 0, n); }

  template <class F>
  void run(char const* label, std::size_t n, F const& f) const {
    if constexpr (on_host)
      detail::host_loop(space_, threads_, label, n, f);
    else if (n > 0)
      Kokkos::parallel_for(tool_label(label), policy(n), f);
  }

  static constexpr std::size_t blocks_of(std::size_t n, std::size_t block) { return (n + block - 1) / block; }

  template <class T>
  void sum_blocks(char const* label, detail::BlockColumnSums<T> const& kernel) const {
    run(label, kernel.row_blocks * blocks_of(kernel.columns, detail::sum_columns), kernel);
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
  detail::DeviceBlas<Space> blas_;
  Kokkos::View<double*, memory_space> scratch_;
};

}  // namespace trireme
