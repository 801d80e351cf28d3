/// Kernels that add a bias and apply an activation, and their backward.
#pragma once

#include <cstddef>
#include <type_traits>

#include <Kokkos_Macros.hpp>

#include "trireme/activations/activation.hpp"
#include "trireme/activations/gelu.hpp"
#include "trireme/activations/linear.hpp"
#include "trireme/backend/gemm/epilogue.hpp"
#include "trireme/backend/gemm/product.hpp"
#include "trireme/backend/simd/four.hpp"
#include "trireme/backend/threads/host_context.hpp"
#include "trireme/layers/gradient.hpp"

namespace trireme {

template <>
inline constexpr VendorActivation vendor_activation<Linear> = VendorActivation::linear;
template <>
inline constexpr VendorActivation vendor_activation<TanhGELU> = VendorActivation::tanh_gelu;

namespace kernels {

/// y = activation(y + bias), elementwise.
template <class T, class A>
struct BiasActivation {
  A activation;
  T const* bias;
  T* y;
  std::size_t columns;
  KOKKOS_FUNCTION void operator()(std::size_t i, std::size_t j) const {
    y[i * columns + j] = activation(y[i * columns + j] + bias[j]);
  }
  /// Four columns at once, from the j-th on, where all of them lie side by side.
  KOKKOS_FUNCTION void four(std::size_t i, std::size_t j) const {
    detail::Four<T>& place = detail::Four<T>::from(y + i * columns + j);
    detail::Four<T> values = place;
    detail::Four<T> const biases = detail::Four<T>::from(bias + j);
    for (std::size_t k = 0; k < 4; ++k) values.at[k] = activation(values.at[k] + biases.at[k]);
    place = values;
  }
  bool takes_four() const { return columns % 4 == 0 && detail::starts_four(bias) && detail::starts_four(y); }
};

template <class T>
struct AddBias {
  T const* bias;
  T* y;
  std::size_t columns;
  KOKKOS_FUNCTION void operator()(std::size_t i, std::size_t j) const { y[i * columns + j] += bias[j]; }
};

template <class T, class A>
struct Activate {
  A activation;
  T const* x;
  T* y;
  KOKKOS_FUNCTION void operator()(std::size_t i) const { y[i] = activation(x[i]); }
};

template <class T, class A>
struct ActivateRow {
  A activation;
  T const* x;
  T* y;
  std::size_t columns;
  template <class Lanes>
  KOKKOS_FUNCTION void operator()(std::size_t i, Lanes const& lanes) const {
    T const* const from = x + i * columns;
    T* const to = y + i * columns;
    if constexpr (requires { activation.forward(lanes, from, columns, to); })
      activation.forward(lanes, from, columns, to);
    else
      lanes.once([&] { activation.forward(from, columns, to); });
  }
};

/// dx = dy * derivative(y or x).
template <class T, class A>
struct ActivationGradient {
  A activation;
  T const* at;
  T const* dy;
  T* dx;
  KOKKOS_FUNCTION T value(std::size_t i) const { return dy[i] * activation.derivative(at[i]); }
  KOKKOS_FUNCTION void operator()(std::size_t i) const { dx[i] = value(i); }
};

/// The same, as a term of the bias's gradient.
template <class T, class A>
struct BiasGradientTerm {
  ActivationGradient<T, A> gradient;
  std::size_t columns;
  KOKKOS_FUNCTION T operator()(std::size_t row, std::size_t j) const {
    T const result = value(row, j);
    keep(row, j, result);
    return result;
  }
  /// The term, and what is left to do with it: a device computes several before it stores one.
  KOKKOS_FUNCTION T value(std::size_t row, std::size_t j) const { return gradient.value(row * columns + j); }
  KOKKOS_FUNCTION void keep(std::size_t row, std::size_t j, T term) const { gradient.dx[row * columns + j] = term; }
};

template <class T, class A>
struct RowActivationGradient {
  A activation;
  T const* y;
  T const* dy;
  T* dx;
  std::size_t columns;
  template <class Lanes>
  KOKKOS_FUNCTION void operator()(std::size_t i, Lanes const& lanes) const {
    T const *const result = y + i * columns, *const from = dy + i * columns;
    T* const to = dx + i * columns;
    if constexpr (requires { activation.backward(lanes, result, from, columns, to); })
      activation.backward(lanes, result, from, columns, to);
    else
      lanes.once([&] { activation.backward(result, from, columns, to); });
  }
};

/// Calls f(activation), or f(function) where a member `resolve` of the activation selects a function.
template <class A, class F>
void with_resolved(A const& activation, F const& f) {
  if constexpr (requires { activation.resolve(f); })
    activation.resolve(f);
  else
    f(activation);
}

/// y = activation(x), elementwise; y may be x.
template <class Context, class T, class A>
void activate(Context& context, A const& activation, std::size_t n, T const* x, T* y) {
  with_resolved(activation, [&]<class Function>(Function const& function) {
    context.for_each("trireme::activate", n, Activate<T, Function>{function, x, y});
  });
}

/// Applies the activation to the rows of `z`, into `y`.
template <class Context, class T, class A>
void activate_rows(Context& context, A const& activation, std::size_t rows, std::size_t columns, T const* z, T* y) {
  if constexpr (A::elementwise)
    activate(context, activation, rows * columns, z, y);
  else
    context.for_rows("trireme::activate_row", rows, columns, ActivateRow<T, A>{activation, z, y, columns});
}

/// Adds the bias (may be null) to `z` and applies the activation into `y`; z is y unless backward needs it.
template <class Context, class T, class A>
void bias_activation(Context& context, A const& activation, std::size_t rows, std::size_t columns, T const* bias, T* z,
                     T* y) {
  if constexpr (A::elementwise) {
    // One kernel for each case, so that their loops have no branches and vectorise.
    if (bias && z == y) {
      context.for_each("trireme::bias_activation", rows, columns, BiasActivation<T, A>{activation, bias, y, columns});
      return;
    }
  }
  if (bias) context.for_each("trireme::add_bias", rows, columns, AddBias<T>{bias, z, columns});
  activate_rows(context, activation, rows, columns, static_cast<T const*>(z), y);
}

/// c = product + bias, which may be null.
template <class Context, class T>
void product_bias(Context& context, Product<T> const& product, T const* bias) {
  if (!bias) return context.gemm(product);
  auto const taken =
      detail::gemm_with_epilogue(context, product, BiasActivationEpilogue<T, Linear>{{}, bias, product.c});
  if constexpr (detail::may_decline<decltype(taken)>) {
    if (taken) return;
    context.gemm(product);
    context.for_each("trireme::add_bias", product.m, product.n, AddBias<T>{bias, product.c, product.n});
  }
}

/// y = activation(product + bias), where the bias may be null. The product's c, whose rows follow each other, is y
/// unless backward needs what the activation was applied to; then it holds that. On devices bias and activation are
/// epilogues of the product where the space has them.
template <class Context, class T, class A>
void product_bias_activation(Context& context, A const& activation, Product<T> const& product, T const* bias, T* y) {
  if constexpr (std::is_same_v<A, Linear>) {
    product_bias(context, product, bias);
  } else if constexpr (!A::elementwise) {
    product_bias(context, product, bias);
    activate_rows(context, activation, product.m, product.n, static_cast<T const*>(product.c), y);
  } else {
    with_resolved(activation, [&]<class Function>(Function const& function) {
      auto const taken =
          detail::gemm_with_epilogue(context, product, BiasActivationEpilogue<T, Function>{function, bias, y});
      if constexpr (detail::may_decline<decltype(taken)>) {
        if (taken) return;
        if constexpr (needs_preactivation<A>()) {
          product_bias(context, product, bias);
          activate(context, activation, product.m * product.n, static_cast<T const*>(product.c), y);
        } else {
          context.gemm(product);
          bias_activation(context, activation, product.m, product.n, bias, product.c, y);
        }
      }
    });
  }
}

/// dx = dy through the activation; `z` is what it was applied to (only read if the activation needs it). dx may be dy.
template <class Context, class T, class A>
void activation_gradient(Context& context, A const& activation, std::size_t rows, std::size_t columns, T const* z,
                         T const* y, T const* dy, T* dx) {
  if constexpr (A::elementwise) {
    T const* const at = needs_preactivation<A>() ? z : y;
    with_resolved(activation, [&]<class Function>(Function const& function) {
      context.for_each("trireme::activation_gradient", rows * columns,
                       ActivationGradient<T, Function>{function, at, dy, dx});
    });
  } else {
    context.for_rows("trireme::row_activation_gradient", rows, columns,
                     RowActivationGradient<T, A>{activation, y, dy, dx, columns});
  }
}

/// As activation_gradient. True if the gradient of the bias is summed up too: on a device, in the same kernel.
template <class Context, class T, class A>
bool activation_and_bias_gradient(Context& context, A const& activation, std::size_t rows, std::size_t columns,
                                  T const* z, T const* y, T const* dy, T* dx, Gradient<T> const& bias) {
  if constexpr (!is_host_context<Context> && A::elementwise) {
    if (bias) {
      T const* const at = needs_preactivation<A>() ? z : y;
      with_resolved(activation, [&]<class Function>(Function const& function) {
        bias.sum_columns(context, "trireme::activation_and_bias_gradient", rows,
                         BiasGradientTerm<T, Function>{{function, at, dy, dx}, columns});
      });
      return true;
    }
  }
  activation_gradient(context, activation, rows, columns, z, y, dy, dx);
  return false;
}

}  // namespace kernels
}  // namespace trireme
