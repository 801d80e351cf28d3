/// Dense: y = activation(x W + b) along the last axis.
#pragma once

#include <array>
#include <cstddef>
#include <string_view>

#include "trireme/backend/gemm/product.hpp"
#include "trireme/backend/threads/host_context.hpp"
#include "trireme/core/config.hpp"
#include "trireme/initializers/constant.hpp"
#include "trireme/layers/activation_kernels.hpp"
#include "trireme/layers/copy.hpp"
#include "trireme/layers/layer.hpp"
#include "trireme/layers/layer_name.hpp"
#include "trireme/layers/options.hpp"
#include "trireme/tensor/arena.hpp"
#include "trireme/tensor/extents.hpp"

namespace trireme {

/// Fully connected layer along the last axis, y = activation(x W + b): `Dense<64, ReLU>{}`, `Dense<10, NoBias>{}`, with
/// a width from the command line `Dense<dynamic, ReLU>{.units = n}`.
///
/// Input (..., n), output (..., Units); parameters kernel W (n, Units) and, without NoBias, bias b (Units). The default
/// activation is Linear. Designated initializers name the members in this order. Source: Keras `Dense`.
///
/// Compile-time errors: Units is 0; an option that is neither an activation nor NoBias, or two of one kind.
/// \throws ValueError from `compile` if Units is `dynamic` and `units` is 0.
template <std::size_t Units, class... Options>
struct Dense {
  static_assert(Units > 0, "trireme: Dense has at least one unit, not 0");
  using Chosen = detail::ChosenOptions<detail::Takes<detail::AnyActivation, NoBias>, Options...>;
  static_assert(detail::NoMisfit<typename Chosen::Misfit>,
                "trireme: Dense takes as options an activation and NoBias, each once at most");
  using A = typename Chosen::template get<detail::AnyActivation, Linear>;
  static constexpr bool use_bias = !Chosen::template has<NoBias>;
  static constexpr std::string_view class_name = "Dense";
  enum Parameters : std::size_t { kernel, bias };
  enum Saved : std::size_t { preactivation, preactivation_gradient };

  Extent<Units> units{};
  A activation{};
  Initializer kernel_initializer = GlorotUniform{};
  Initializer bias_initializer = Zeros{};
  Regularizer kernel_regularizer{};
  Regularizer bias_regularizer{};
  LayerName name{};

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
    ParameterShape const weights{"kernel", {in.back(), units}};
    if constexpr (use_bias)
      return std::array{weights, ParameterShape{"bias", {units}}};
    else
      return std::array{weights};
  }
  Initializer initializer(std::size_t i) const { return i == kernel ? kernel_initializer : bias_initializer; }
  Regularizer regularizer(std::size_t i) const { return i == kernel ? kernel_regularizer : bias_regularizer; }

  using final_activation = A;
  constexpr auto without_activation() const {
    return Dense<Units, detail::without_activation_t<Options>...>{.units = units};
  }

  template <class T, class Context, class In>
  constexpr auto saved(In const& in, std::size_t rows) const {
    std::size_t const outputs = rows * output(in).size();
    return std::array{SavedTensor{needs_preactivation<A>() ? outputs : 0},
                      SavedTensor{may_defer<Context>(in) ? outputs : 0}};
  }

  using scattered_rows_of = Dense;
  /// True if a sample is a row of the product and register tiles compute the gradient too.
  template <class T, class Context, class In>
  constexpr bool takes_scattered_rows(In const& in, std::size_t rows) const {
    return is_host_context<Context> && in.size() == in.back() && rows > 0 &&
           rows * units * sizeof(T) <= detail::tile_gemm_limit &&
           detail::reads_scattered_rows(forward_product<T>(in, rows));
  }

  template <class Context, class In, class T>
  void forward(Context& context, In const& in, Forward<T> const& f) const {
    T* const z = needs_preactivation<A>() ? f.saved[preactivation] : f.y;
    Product<T> product = forward_product<T>(in, f.rows);
    product.a = f.input();
    product.b = f.parameters[kernel];
    product.c = z;
    if constexpr (use_bias || !std::is_same_v<A, Linear>)
      kernels::product_bias_activation(context, activation, product, f.parameters[bias], f.y);
    else
      context.gemm(product);
  }

  template <class Context, class In, class T>
  void backward(Context& context, In const& in, Backward<T> const& b) const {
    std::size_t const n = in.back(), rows = b.rows * in.size() / n;
    T const* const z = needs_preactivation<A>() ? b.saved[preactivation] : b.y;
    bool const deferred = may_defer<Context>(in) && b.gradients[kernel].defers(context, rows, n, units);
    T* const dz = deferred ? b.saved[preactivation_gradient] : b.dy;
    bool summed = false;
    if constexpr (!std::is_same_v<A, Linear>)
      summed =
          kernels::activation_and_bias_gradient(context, activation, rows, units, z, b.y, b.dy, dz, b.gradients[bias]);
    else if (deferred)
      kernels::copy(context, rows * units, static_cast<T const*>(b.dy), dz);
    if (b.dx)
      context.gemm(Product<T>{.m = rows,
                              .n = n,
                              .k = units,
                              .a = dz,
                              .lda = units,
                              .b = b.parameters[kernel],
                              .ldb = units,
                              .c = b.dx,
                              .ldc = n,
                              .transpose_b = true});
    Lifetime const operands = deferred ? Lifetime::step : Lifetime::call;
    if (summed)
      b.gradients[kernel].product(context, rows, {b.input(), n}, {dz, units}, operands);
    else
      b.gradients[kernel].product_and_column_sums(context, "trireme::dense_bias_gradient", rows, {b.input(), n},
                                                  {dz, units}, b.gradients[bias], operands);
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
  constexpr bool may_defer(In const& in) const {
    return defers_products<Context> && pays_to_defer(in.back(), units, in.size() / in.back());
  }
};
template <class... Values>
Dense(Values const&...) -> Dense<detail::size_from_values<Values...>()>;

}  // namespace trireme
