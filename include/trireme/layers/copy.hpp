/// Copies, clears and adds buffers of a model.
#pragma once

#include <cstddef>

#include <Kokkos_Macros.hpp>

#include "trireme/backend/simd/four.hpp"

namespace trireme::kernels {

template <class T>
struct Copy {
  T const* from;
  T* to;
  KOKKOS_FUNCTION void operator()(std::size_t i) const { to[i] = from[i]; }
};

template <class T>
struct Clear {
  T* x;
  KOKKOS_FUNCTION void operator()(std::size_t i) const { x[i] = T{0}; }
  KOKKOS_FUNCTION void four(std::size_t i) const { detail::Four<T>::from(x + i) = {}; }
  bool takes_four() const { return detail::starts_four(x); }
};

/// Rows of a matrix whose rows lie `stride` apart.
template <class T>
struct ClearStrided {
  T* x;
  std::size_t stride;
  KOKKOS_FUNCTION void operator()(std::size_t row, std::size_t j) const { x[row * stride + j] = T{0}; }
};

/// to += from.
template <class T>
struct AddTo {
  T const* from;
  T* to;
  KOKKOS_FUNCTION void operator()(std::size_t i) const { to[i] += from[i]; }
};

template <class Context, class T>
void copy(Context& context, std::size_t count, T const* from, T* to) {
  context.for_each("trireme::copy", count, Copy<T>{from, to});
}

}  // namespace trireme::kernels
