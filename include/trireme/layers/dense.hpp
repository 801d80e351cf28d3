/// Dense: y = activation(x W + b) along the last axis.
#pragma once

#include <array>
#include <cstddef>
#include <string_view>

#include "trireme/backend/gemm/product.hpp"
#include "trireme/core/config.hpp"
#include "trireme/initializers/constant.hpp"
#include "trireme/layers/activation_kernels.hpp"
#include "trireme/layers/copy.hpp"
#include "trireme/layers/layer.hpp"
#include "trireme/layers/options.hpp"
#include "trireme/layers/weight_gradient.hpp"
#include "trireme/tensor/arena.hpp"
#include "trireme/tensor/extents.hpp"

namespace trireme {

/// `Dense<64, ReLU>{}`, `Dense<10, NoBias>{}`, with a width from the command line `Dense<dynamic, ReLU>{.units = n}`.
///
/// Input (..., n), output (..., Units); kernel (n, Units), bias (Units).
/// Designated initializers name the members in this order.
template <std::size_t Units, class... Options>
struct Dense {
  static_assert(Units > 0, "trireme: Dense has at least one unit, not 0");
  using Chosen = detail::ChosenOptions<detail::Takes<detail::AnyActivation, NoBias>, Options...>;
  static_assert(detail::NoMisfit<typename Chosen::Misfit>,
                "trireme: Dense takes as options an activation and NoBias, each once at most");
  using A = typename Chosen::template get<detail::AnyActivation, Linear>;
  static constexpr bool use_bias = !Chosen::template has<NoBias>;
  static constexpr std::string_view class_name = "Dense";

  [[no_unique_address]] Extent<Units> units{};
  [[no_unique_address]] A activation{};
  Initializer kernel_initializer = GlorotUniform{};
  Initializer bias_initializer = Zeros{};
  Regularizer kernel_regularizer{};
  Regularizer bias_regularizer{};
  std::string_view name{};

  void config(Config& c) const {
    c("units", std::size_t{units}, intervals::positive_count);
    c("activation", activation);
  }

  template <std::size_t... E>
  constexpr auto output(Extents<E...> const& in) const {
    return replace_back<Units>(in, units);
  }

  template <class In>
  constexpr auto parameters(In const& in) const {
    ParameterShape const kernel{"kernel", {in.back(), units}};
    if constexpr (use_bias)
      return std::array{kernel, ParameterShape{"bias", {units}}};
    else
      return std::array{kernel};
  }
  Initializer initializer(std::size_t i) const { return i == 0 ? kernel_initializer : bias_initializer; }
  Regularizer regularizer(std::size_t i) const { return i == 0 ? kernel_regularizer : bias_regularizer; }

  using final_activation = A;
  constexpr auto without_activation() const {
    return Dense<Units, detail::without_activation_t<Options>...>{.units = units};
  }

  template <class T, class Context, class In>
  constexpr std::size_t workspace(In const& in, std::size_t rows) const {
    std::size_t const bytes = aligned_bytes(rows * output(in).size() * sizeof(T));
    return (needs_preactivation<A>() ? bytes : 0) + (may_share<Context>(in) ? bytes : 0);
  }

  using scattered_rows_of = Dense;
  /// True if a sample is a row of the product and register tiles compute the gradient too.
  template <class T, class Context, class In>
  constexpr bool takes_scattered_rows(In const& in, std::size_t rows) const {
    return Context::owns_rows && in.size() == in.back() && rows > 0 &&
           rows * units * sizeof(T) <= detail::tile_gemm_limit &&
           detail::reads_scattered_rows(forward_product<T>(in, rows));
  }

  template <class Context, class In, class T>
  void forward(Context& context, In const& in, Forward<T> const& f) const {
    std::size_t const rows = f.rows * in.size() / in.back();
    T* const z = needs_preactivation<A>() ? Workspace(f.workspace).take<T>(rows * units) : f.y;
    Product<T> product = forward_product<T>(in, f.rows);
    product.a = f.x;
    product.a_rows = f.x_rows;
    product.b = f.parameters;
    product.c = z;
    context.gemm(product);
    if constexpr (use_bias || !std::is_same_v<A, Linear>)
      kernels::bias_activation(context, activation, rows, units, bias(in, f.parameters), z, f.y);
  }

  template <class Context, class In, class T>
  void backward(Context& context, In const& in, Backward<T> const& b) const {
    std::size_t const n = in.back(), rows = b.rows * in.size() / n;
    Workspace workspace(b.workspace);
    T const* const z = needs_preactivation<A>() ? workspace.take<T>(rows * units) : b.y;
    bool const shared = may_share<Context>(in) && !b.frozen && b.listener && b.listener->shares(n, units, rows);
    T* const dz = shared ? workspace.take<T>(rows * units) : b.dy;
    if constexpr (!std::is_same_v<A, Linear>)
      kernels::activation_gradient(context, activation, rows, units, z, b.y, b.dy, dz);
    else if (shared)
      kernels::copy(context, rows * units, static_cast<T const*>(b.dy), dz);
    if (b.dx)
      context.gemm(Product<T>{.m = rows,
                              .n = n,
                              .k = units,
                              .a = dz,
                              .lda = units,
                              .b = b.parameters,
                              .ldb = units,
                              .c = b.dx,
                              .ldc = n,
                              .transpose_b = true});
    if (b.frozen) return;
    if constexpr (use_bias)
      context.column_sums("trireme::dense_bias_gradient", rows, units, dz, b.gradients + kernel_elements<T>(in));
    if (shared) return b.listener->share({n, units, rows, b.x, dz, b.gradients, b.x_rows});
    weight_gradient(context,
                    Product<T>{.m = n,
                               .n = units,
                               .k = rows,
                               .a = b.x,
                               .lda = n,
                               .b = dz,
                               .ldb = units,
                               .c = b.gradients,
                               .ldc = units,
                               .transpose_a = true,
                               .a_rows = b.x_rows},
                    b.listener);
  }

 private:
  /// The product x W, without the addresses of its matrices.
  template <class T, class In>
  constexpr Product<T> forward_product(In const& in, std::size_t rows) const {
    std::size_t const n = in.back();
    return {.m = rows * in.size() / n,
            .n = units,
            .k = n,
            .a = nullptr,
            .lda = n,
            .b = nullptr,
            .ldb = units,
            .c = nullptr,
            .ldc = units};
  }
  template <class Context, class In>
  constexpr bool may_share(In const& in) const {
    return shares_products<Context> && pays_to_share(in.back(), units, in.size() / in.back());
  }
  template <class T, class In>
  std::size_t kernel_elements(In const& in) const {
    return aligned_count<T>(in.back() * units);
  }
  template <class T, class In>
  T const* bias(In const& in, T const* parameters) const {
    return use_bias ? parameters + kernel_elements<T>(in) : nullptr;
  }
};
template <class... Values>
Dense(Values const&...) -> Dense<detail::size_from_values<Values...>()>;

}  // namespace trireme
