/// Epilogues of matrix products: work on results in the kernel of the product.
#pragma once

#include <cstddef>
#include <type_traits>

#include <Kokkos_Macros.hpp>

#include "trireme/backend/gemm/product.hpp"
#include "trireme/backend/simd/four.hpp"

namespace trireme {

/// Activations that a vendor's library may have in an epilogue, with the same value for NaN and infinities. ReLU is not
/// among them: cuBLASLt's turns a NaN into 0.
enum class VendorActivation { none, linear, tanh_gelu };

/// The activation of a library that is `A`; `none` by default.
template <class A>
inline constexpr VendorActivation vendor_activation = VendorActivation::none;

/// c = product + bias, and y = activation(c) for each element, with the rows of y as far apart as those of c. If y is c
/// it holds the activated values alone.
template <class T, class A>
struct BiasActivationEpilogue {
  A activation;
  T const* bias;  ///< (n), or null
  T* y;

  KOKKOS_FUNCTION void operator()(Product<T> const& p, std::size_t i, std::size_t j, T value) const {
    if (bias) value += bias[j];
    std::size_t const at = i * p.ldc + j;
    if (y != p.c) p.c[at] = value;
    y[at] = activation(value);
  }

  /// The results from column j on. The caller asks `takes_four` before.
  KOKKOS_FUNCTION void four(Product<T> const& p, std::size_t i, std::size_t j, detail::Four<T> values) const {
    if (bias)
      for (std::size_t e = 0; e < 4; ++e) values.at[e] += bias[j + e];
    std::size_t const at = i * p.ldc + j;
    if (y != p.c) detail::Four<T>::from(p.c + at) = values;
    for (T& value : values.at) value = activation(value);
    detail::Four<T>::from(y + at) = values;
  }
  /// True if four results of a row may be stored at once, where the first is in every fourth column.
  bool takes_four(Product<T> const& p) const {
    return p.ldc % 4 == 0 && detail::starts_four(p.c) && detail::starts_four(y);
  }
};

namespace detail {

/// c = product.
template <class T>
struct StoreEpilogue {
  KOKKOS_FUNCTION void operator()(Product<T> const& p, std::size_t i, std::size_t j, T value) const {
    p.c[i * p.ldc + j] = value;
  }
  KOKKOS_FUNCTION void four(Product<T> const& p, std::size_t i, std::size_t j, Four<T> const& values) const {
    Four<T>::from(p.c + i * p.ldc + j) = values;
  }
  bool takes_four(Product<T> const& p) const { return p.ldc % 4 == 0 && starts_four(p.c); }
};

/// Computes the product with its epilogue in one launch, where the context can. Otherwise false, and nothing is done.
/// std::true_type and std::false_type are results that do not depend on the operands.
template <class Context, class T, class Epilogue>
[[nodiscard]] auto gemm_with_epilogue(Context& context, Product<T> const& product, Epilogue const& epilogue) {
  if constexpr (requires { context.gemm(product, epilogue); })
    return context.gemm(product, epilogue);
  else
    return std::false_type{};
}

/// False if the result says that every such product is taken: the kernels for a declined one are then not compiled.
template <class Taken>
inline constexpr bool may_decline = !std::is_same_v<std::remove_cvref_t<Taken>, std::true_type>;

}  // namespace detail
}  // namespace trireme
