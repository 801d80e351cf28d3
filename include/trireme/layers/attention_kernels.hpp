/// Kernels of attention: the softmax over the scores of one query, and its backward.
#pragma once

#include <cstddef>

#include <Kokkos_Macros.hpp>

#include "trireme/backend/simd/math.hpp"
#include "trireme/backend/simd/row_sum.hpp"

namespace trireme::kernels {

/// p = softmax(scale * s) over the keys of one query, in place; with `causal` over the keys that are not later than it.
template <class T>
struct AttentionSoftmax {
  T* scores;  ///< (…, queries, keys)
  std::size_t queries, keys;
  T scale;
  bool causal;

  struct Weight {
    T const* p;
    KOKKOS_FUNCTION T operator()(std::size_t j) const { return p[j]; }
  };

  KOKKOS_FUNCTION void operator()(std::size_t row) const {
    T* const s = scores + row * keys;
    std::size_t const query = row % queries;
    std::size_t const seen = causal && query + 1 < keys ? query + 1 : keys;
    T largest = s[0];
    for (std::size_t j = 1; j < seen; ++j) largest = s[j] > largest ? s[j] : largest;
    for (std::size_t j = 0; j < seen; ++j) s[j] = math::exp(scale * (s[j] - largest));
    T const share = T{1} / row_sum<T>(seen, Weight{s});
    for (std::size_t j = 0; j < seen; ++j) s[j] *= share;
    for (std::size_t j = seen; j < keys; ++j) s[j] = T{0};
  }
};

/// ds = scale * p * (dp - sum of p dp), in place of dp.
template <class T>
struct AttentionSoftmaxGradient {
  T const* p;
  T* dp;
  std::size_t keys;
  T scale;

  struct Term {
    T const* p;
    T const* dp;
    KOKKOS_FUNCTION T operator()(std::size_t j) const { return p[j] * dp[j]; }
  };

  KOKKOS_FUNCTION void operator()(std::size_t row) const {
    T const* const share = p + row * keys;
    T* const gradient = dp + row * keys;
    T const mean = row_sum<T>(keys, Term{share, gradient});
    for (std::size_t j = 0; j < keys; ++j) gradient[j] = scale * share[j] * (gradient[j] - mean);
  }
};

}  // namespace trireme::kernels
