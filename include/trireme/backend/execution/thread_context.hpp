/// The execution context of one host thread, which runs every kernel itself over its own rows.
#pragma once

#include <cstddef>

#include <Kokkos_Core.hpp>

#include "trireme/backend/execution/column_sums.hpp"
#include "trireme/backend/execution/lanes.hpp"
#include "trireme/backend/execution/statistics_scope.hpp"
#include "trireme/backend/gemm/cache_gemm.hpp"
#include "trireme/backend/gemm/product.hpp"
#include "trireme/backend/simd/simd.hpp"
#include "trireme/backend/threads/elements.hpp"

namespace trireme {

/// The interface that layers' mathematics is written against (SpaceContext has the same members).
///
/// Kernels are functors. `for_each` promises that its calls are independent, so that it may vectorise them.
class ThreadContext {
 public:
  using memory_space = Kokkos::HostSpace;
  /// One thread works on the slice, so its data stay in that core's caches.
  static constexpr bool owns_rows = true;

  ThreadContext() = default;
  /// Context of one of several slices; `exchange` sums over them.
  explicit ThreadContext(StatisticsSum* exchange) : exchange_(exchange) {}

  /// Always 1.
  static constexpr std::size_t threads() { return 1; }

  /// f(i) for i < n, vectorised.
  template <class F>
  void for_each(char const*, std::size_t n, F const& f) const {
    detail::for_each_element(0, n, f);
  }

  /// f(i, j) for i < rows, j < columns; j is vectorised.
  template <class F>
  void for_each(char const*, std::size_t rows, std::size_t columns, F const& f) const {
    F const body = f;
    for (std::size_t i = 0; i < rows; ++i) {
      TRIREME_SIMD
      for (std::size_t j = 0; j < columns; ++j) body(i, j);
    }
  }

  /// f(i) for i < n, where each call is a piece of serial work.
  template <class F>
  void for_rows(char const*, std::size_t n, F const& f) const {
    for (std::size_t i = 0; i < n; ++i) f(i);
  }

  /// f(i, lanes) for i < rows, where the lanes share the `columns` elements of a row (lanes.hpp).
  template <class F>
  void for_rows(char const*, std::size_t rows, std::size_t /*columns*/, F const& f) const {
    for (std::size_t i = 0; i < rows; ++i) f(i, OneLane{});
  }

  /// totals[w] += sum over i < n of what f(i, sums) adds to sums[w], for w < f.width.
  template <class F>
  void accumulate(char const*, std::size_t n, F const& f, double* totals) const {
    for (std::size_t i = 0; i < n; ++i) f(i, totals);
  }

  /// sums[j] = sum over i of x[i, j].
  template <class T>
  void column_sums(char const*, std::size_t rows, std::size_t columns, T const* x, T* sums) const {
    for (std::size_t j = 0; j < columns; ++j) sums[j] = T{0};
    for (std::size_t i = 0; i < rows; ++i) {
      T const* row = x + i * columns;
      TRIREME_SIMD
      for (std::size_t j = 0; j < columns; ++j) sums[j] += row[j];
    }
  }

  /// sums[j] = sum over i of term(i, j), for j < columns.
  template <class Sum, class Term>
  void sum_columns(char const* label, std::size_t rows, std::size_t columns, Term const& term, Sum* sums) const {
    using Block = detail::SumsOfColumnBlock<Sum, Term>;
    for_rows(label, Block::blocks(columns), Block{term, rows, columns, sums});
  }

  template <class T>
  void gemm(Product<T> const& product) const {
    detail::cache_gemm(product);
  }

  /// Samples whose patches a convolution unfolds at once: one, so that they stay in the cache.
  static constexpr std::size_t convolution_chunk(std::size_t /*bytes_per_sample*/) { return 1; }

  /// values[i] becomes the sum over all slices within the scope. Collective for them.
  void cross_replica_sum(double* values, std::size_t count, StatisticsScope scope) const {
    if (exchange_) exchange_->sum(values, count, scope);
  }

 private:
  StatisticsSum* exchange_ = nullptr;
};

}  // namespace trireme
