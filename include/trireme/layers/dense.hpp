/// Dense: y = activation(x W + b) along the last axis.
#pragma once

#include <array>
#include <cstddef>
#include <string_view>

#include "trireme/backend/product.hpp"
#include "trireme/concepts/layer.hpp"
#include "trireme/initializers/constant.hpp"
#include "trireme/layers/activation_kernels.hpp"
#include "trireme/layers/options.hpp"
#include "trireme/layers/weight_gradient.hpp"
#include "trireme/tensor/extents.hpp"

namespace trireme {

/// `Dense<64, ReLU>{}`, `Dense<10, NoBias>{}`, with a width from the command line `Dense<dynamic, ReLU>{.units = n}`.
///
/// Input (..., n), output (..., Units); kernel (n, Units), bias (Units).
template <std::size_t Units, class... Options>
struct Dense {
  using A = detail::activation_option<Options...>;
  static constexpr bool use_bias = !detail::has_option<NoBias, Options...>;
  static constexpr std::string_view class_name = "Dense";

  [[no_unique_address]] Extent<Units> units{};
  [[no_unique_address]] A activation{};
  Initializer kernel_initializer = GlorotUniform{};
  Initializer bias_initializer = Zeros{};
  Regularizer kernel_regularizer{};
  Regularizer bias_regularizer{};
  std::string_view name{};

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
  constexpr auto without_activation() const { return Dense<Units, Linear, Options...>{.units = units}; }

  template <class T, class Context, class In>
  constexpr std::size_t workspace(In const& in, std::size_t rows) const {
    return needs_preactivation<A>() ? rows * output(in).size() * sizeof(T) : 0;
  }

  template <class Context, class In, class T>
  void forward(Context& context, In const& in, Forward<T> const& f) const {
    std::size_t const n = in.back(), rows = f.rows * in.size() / n;
    T* const z = needs_preactivation<A>() ? Workspace(f.workspace).take<T>(rows * units) : f.y;
    context.gemm(Product<T>{
        .m = rows, .n = units, .k = n, .a = f.x, .lda = n, .b = f.parameters, .ldb = units, .c = z, .ldc = units});
    if constexpr (use_bias || !std::is_same_v<A, Linear>)
      kernels::bias_activation(context, activation, rows, units, bias(in, f.parameters), z, f.y);
  }

  template <class Context, class In, class T>
  void backward(Context& context, In const& in, Backward<T> const& b) const {
    std::size_t const n = in.back(), rows = b.rows * in.size() / n;
    T const* const z = needs_preactivation<A>() ? Workspace(b.workspace).take<T>(rows * units) : b.y;
    if constexpr (!std::is_same_v<A, Linear>)
      kernels::activation_gradient(context, activation, rows, units, z, b.y, b.dy, b.dy);
    if (b.dx)
      context.gemm(Product<T>{.m = rows,
                              .n = n,
                              .k = units,
                              .a = b.dy,
                              .lda = units,
                              .b = b.parameters,
                              .ldb = units,
                              .c = b.dx,
                              .ldc = n,
                              .transpose_b = true});
    if (b.frozen) return;
    if constexpr (use_bias)
      context.column_sums("trireme::dense_bias_gradient", rows, units, b.dy, b.gradients + kernel_elements<T>(in));
    weight_gradient(context,
                    Product<T>{.m = n,
                               .n = units,
                               .k = rows,
                               .a = b.x,
                               .lda = n,
                               .b = b.dy,
                               .ldb = units,
                               .c = b.gradients,
                               .ldc = units,
                               .transpose_a = true},
                    b.listener);
  }

 private:
  template <class T, class In>
  std::size_t kernel_elements(In const& in) const {
    return aligned_count<T>(in.back() * units);
  }
  template <class T, class In>
  T const* bias(In const& in, T const* parameters) const {
    return use_bias ? parameters + kernel_elements<T>(in) : nullptr;
  }
};

}  // namespace trireme
