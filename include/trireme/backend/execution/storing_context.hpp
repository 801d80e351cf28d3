/// A context that stores the activations between a model's layers in another number type.
#pragma once

#include <cstddef>
#include <type_traits>

#include <Kokkos_Macros.hpp>

#include "trireme/backend/execution/statistics_scope.hpp"
#include "trireme/backend/gemm/product.hpp"
#include "trireme/backend/simd/four.hpp"
#include "trireme/tensor/bfloat16.hpp"

namespace trireme {

/// Runs everything like `Context`. Sequential uses `storage`; layers do not see it.
template <class Context, class Storage>
class StoringContext {
 public:
  using storage = Storage;
  using memory_space = typename Context::memory_space;
  static constexpr bool owns_rows = Context::owns_rows;
  /// True if the other context enqueues steps that may be recorded.
  static constexpr bool records_steps = requires { requires Context::records_steps; };
  /// True if stored numbers are exact in TF32, which has eleven bits of a number and the exponent of a float.
  static constexpr bool short_operands = std::is_same_v<Storage, BFloat16>;

  /// Context that runs in another one, which has to outlive it.
  explicit StoringContext(Context& context) : context_(context) {}

  /// Threads of the other context.
  std::size_t threads() const { return context_.threads(); }

  template <class F>
  void for_each(char const* label, std::size_t n, F const& f) const {
    context_.for_each(label, n, f);
  }
  template <class F>
  void for_each(char const* label, std::size_t rows, std::size_t columns, F const& f) const {
    context_.for_each(label, rows, columns, f);
  }
  template <class F>
  void for_rows(char const* label, std::size_t n, F const& f) const {
    context_.for_rows(label, n, f);
  }
  template <class F>
  void for_rows(char const* label, std::size_t rows, std::size_t columns, F const& f) const {
    context_.for_rows(label, rows, columns, f);
  }
  template <class F>
  void accumulate(char const* label, std::size_t n, F const& f, double* totals) const {
    context_.accumulate(label, n, f, totals);
  }
  template <class T>
  void column_sums(char const* label, std::size_t rows, std::size_t columns, T const* x, T* sums) const {
    context_.column_sums(label, rows, columns, x, sums);
  }
  template <class Sum, class Term>
  void sum_columns(char const* label, std::size_t rows, std::size_t columns, Term const& term, Sum* sums) const {
    context_.sum_columns(label, rows, columns, term, sums);
  }
  template <class T>
  void gemm(Product<T> product) const {
    product.short_operands = short_operands;
    context_.gemm(product);
  }
  template <class T, class Epilogue>
    requires requires(Context& c, Product<T> const& p, Epilogue const& e) { c.gemm(p, e); }
  [[nodiscard]] auto gemm(Product<T> product, Epilogue const& epilogue) const {
    product.short_operands = short_operands;
    return context_.gemm(product, epilogue);
  }
  template <class T>
  void gemm_batch(ProductBatch<T> batch) const {
    batch.first.short_operands = short_operands;
    context_.gemm_batch(batch);
  }
  /// The vendor's convolutions, on devices.
  decltype(auto) convolutions() const
    requires requires(Context& c) { c.convolutions(); }
  {
    return context_.convolutions();
  }
  /// Execution space, for them.
  decltype(auto) space() const
    requires requires(Context& c) { c.convolutions(); }
  {
    return context_.space();
  }
  static constexpr std::size_t convolution_chunk(std::size_t bytes_per_sample) {
    return Context::convolution_chunk(bytes_per_sample);
  }
  void cross_replica_sum(double* values, std::size_t count, StatisticsScope scope) const {
    context_.cross_replica_sum(values, count, scope);
  }

 private:
  Context& context_;
};

/// True if outputs are stored in another type than they are computed in.
template <class Context>
concept StoresOutputs = requires { typename Context::storage; };

namespace detail {
template <class Context, class T>
struct StoredType {
  using type = T;
};
template <StoresOutputs Context, class T>
struct StoredType<Context, T> {
  using type = typename Context::storage;
};
template <class Context, class T>
using stored_t = typename StoredType<Context, T>::type;
}  // namespace detail

namespace kernels {

/// Stores values and rounds them, so that later layers compute with the stored numbers.
template <class T, class Storage>
struct Store {
  T* values;
  Storage* stored;
  KOKKOS_FUNCTION void operator()(std::size_t i) const {
    stored[i] = static_cast<Storage>(values[i]);
    values[i] = static_cast<T>(stored[i]);
  }
};

template <class T, class Storage>
struct Expand {
  Storage const* stored;
  T* values;
  KOKKOS_FUNCTION void operator()(std::size_t i) const { values[i] = static_cast<T>(stored[i]); }
};

template <class T, class Storage>
struct Round {
  T const* from;
  T* to;
  KOKKOS_FUNCTION void operator()(std::size_t i) const { to[i] = rounded(from[i]); }
  KOKKOS_FUNCTION void four(std::size_t i) const {
    detail::Four<T> values = detail::Four<T>::from(from + i);
    for (std::size_t k = 0; k < 4; ++k) values.at[k] = rounded(values.at[k]);
    detail::Four<T>::from(to + i) = values;
  }
  bool takes_four() const { return detail::starts_four(from) && detail::starts_four(to); }

 private:
  static KOKKOS_FUNCTION T rounded(T value) { return static_cast<T>(static_cast<Storage>(value)); }
};

}  // namespace kernels
}  // namespace trireme
