/// The products of attention: one for each head of each sample.
#pragma once

#include <cstddef>

#include "trireme/backend/gemm/product_batch.hpp"

namespace trireme::detail {

/// A matrix for each head of each sample: where it begins, and the distance of its rows, of heads and of samples.
template <class T>
struct HeadMatrices {
  T* data;
  std::size_t row, head, sample;
};

/// A head's part of each position of (rows, length, heads, width).
template <class T>
HeadMatrices<T> head_sequences(T* data, std::size_t heads, std::size_t length, std::size_t width) {
  return {data, heads * width, width, length * heads * width};
}

/// The scores (rows, heads, queries, keys).
template <class T>
HeadMatrices<T> head_scores(T* data, std::size_t heads, std::size_t queries, std::size_t keys) {
  return {data, keys, queries * keys, heads * queries * keys};
}

struct HeadProduct {
  std::size_t m, n, k;
  bool transpose_a = false, transpose_b = false;
};

/// c = a * b for each head of each sample.
template <class Context, class T>
void head_products(Context& context, std::size_t rows, std::size_t heads, HeadProduct const& shape,
                   HeadMatrices<T> const& a, HeadMatrices<T> const& b, HeadMatrices<T> const& c) {
  gemm_batch(context, ProductBatch<T>{.first = {.m = shape.m,
                                                .n = shape.n,
                                                .k = shape.k,
                                                .a = a.data,
                                                .lda = a.row,
                                                .b = b.data,
                                                .ldb = b.row,
                                                .c = c.data,
                                                .ldc = c.row,
                                                .transpose_a = shape.transpose_a,
                                                .transpose_b = shape.transpose_b},
                                      .count = rows,
                                      .group = heads,
                                      .groups = {a.sample, b.sample, c.sample},
                                      .within = {a.head, b.head, c.head}});
}

}  // namespace trireme::detail
