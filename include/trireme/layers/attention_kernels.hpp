/// Kernels of attention: the softmax over the scores of one query, and its backward.
#pragma once

#include <cstddef>

#include <Kokkos_Macros.hpp>

#include "trireme/backend/simd/math.hpp"

namespace trireme::kernels {

/// p = softmax(scale * s) over the keys of one query, in place; with `causal` over the keys that are not later than it.
template <class T>
struct AttentionSoftmax {
  T* scores;  ///< (…, queries, keys)
  std::size_t queries, keys;
  T scale;
  bool causal;

  template <class Lanes>
  KOKKOS_FUNCTION void operator()(std::size_t row, Lanes const& lanes) const {
    T* const s = scores + row * keys;
    std::size_t const query = row % queries;
    std::size_t const seen = causal && query + 1 < keys ? query + 1 : keys;
    T const largest = lanes.template max<T>(seen, [&](std::size_t j) { return s[j]; });
    lanes.for_each(seen, [&](std::size_t j) { s[j] = math::exp(scale * (s[j] - largest)); });
    T const share = T{1} / lanes.template row_sum<T>(seen, [&](std::size_t j) { return s[j]; });
    lanes.for_each(seen, [&](std::size_t j) { s[j] *= share; });
    lanes.for_each(keys - seen, [&](std::size_t j) { s[seen + j] = T{0}; });
  }
};

/// ds = scale * p * (dp - sum of p dp), in place of dp.
template <class T>
struct AttentionSoftmaxGradient {
  T const* p;
  T* dp;
  std::size_t keys;
  T scale;

  template <class Lanes>
  KOKKOS_FUNCTION void operator()(std::size_t row, Lanes const& lanes) const {
    T const* const share = p + row * keys;
    T* const gradient = dp + row * keys;
    T const mean = lanes.template row_sum<T>(keys, [&](std::size_t j) { return share[j] * gradient[j]; });
    lanes.for_each(keys, [&](std::size_t j) { gradient[j] = scale * share[j] * (gradient[j] - mean); });
  }
};

}  // namespace trireme::kernels
