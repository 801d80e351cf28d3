/// Copies of pieces of a matrix, in the order in which a product of register tiles reads them.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "trireme/backend/gemm/rows_view.hpp"
#include "trireme/backend/simd/simd.hpp"
#include "trireme/backend/simd/simd_vector.hpp"

namespace trireme::detail {

/// Memory of this thread for `count` numbers, aligned to cache lines; one for each Use, and valid until the next call.
template <class T, int Use>
T* pack_buffer(std::size_t count) {
  constexpr std::size_t line = 64 / sizeof(T);
  thread_local std::vector<T> memory;
  if (memory.size() < count + line) memory.resize(count + line);
  auto const address = reinterpret_cast<std::uintptr_t>(memory.data());
  return memory.data() + (64 - address % 64) % 64 / sizeof(T);
}

/// The transposed square of as many vectors as a vector has lanes: shuffled log2(lanes) times, a with b above it.
template <class T>
struct SquareTransposition {
  using Vector = SimdVector<T>;
  using V = typename Vector::type;
  static constexpr std::size_t lanes = Vector::lanes;

  /// to (lanes, lanes) with rows `ldto` apart = the transposed matrix, with its row i at from(i).
  template <class From>
  static void run(From const& from, T* to, std::size_t ldto) {
    V rows[lanes];
    TRIREME_UNROLL(16)
    for (std::size_t i = 0; i < lanes; ++i) rows[i] = Vector::load(from(i));
    shuffle(rows);
    TRIREME_UNROLL(16)
    for (std::size_t i = 0; i < lanes; ++i) Vector::store(to + i * ldto, rows[i]);
  }

  /// Exchanges blocks of Width x Width between rows that are Width apart, then of twice that.
  template <std::size_t Width = 1>
  static void shuffle(V (&rows)[lanes]) {
    if constexpr (Width < lanes) {
      TRIREME_UNROLL(16)
      for (std::size_t i = 0; i < lanes; ++i) {
        if ((i & Width) == 0) {
          V const one = rows[i], other = rows[i + Width];
          rows[i] = mix<Width, false>(one, other, std::make_index_sequence<lanes>());
          rows[i + Width] = mix<Width, true>(one, other, std::make_index_sequence<lanes>());
        }
      }
      shuffle<2 * Width>(rows);
    }
  }

 private:
  template <std::size_t Width, bool High, std::size_t... I>
  static V mix(V one, V other, std::index_sequence<I...>) {
#if defined(__CUDACC__)  // nvcc expands no pack among the function's arguments
    return V{((I & Width) == 0 ? one[(I + (High ? Width : 0)) % lanes]
                               : other[(I + (High ? lanes : lanes - Width)) % lanes])...};
#else
    return __builtin_shufflevector(
        one, other, static_cast<int>((I & Width) == 0 ? I + (High ? Width : 0) : lanes + I - (High ? 0 : Width))...);
#endif
  }
};

/// Distance in rows of prefetches: processors do not predict addresses of rows that lie far apart.
inline constexpr std::size_t rows_ahead = 16;

/// to (depth, width) = b (depth, columns), filled up with zeros.
template <class T>
void pack_rows(std::size_t depth, std::size_t columns, std::size_t width, T const* b, std::size_t ldb, T* to) {
  if (columns == width) {
    for (std::size_t k = 0; k < depth; ++k) {
      if (k + rows_ahead < depth) prefetch(b + (k + rows_ahead) * ldb, width);
      for (std::size_t j = 0; j < width; j += SimdVector<T>::lanes)
        SimdVector<T>::store(to + k * width + j, SimdVector<T>::load(b + k * ldb + j));
    }
    return;
  }
  for (std::size_t k = 0; k < depth; ++k) {
    for (std::size_t j = 0; j < columns; ++j) to[k * width + j] = b[k * ldb + j];
    for (std::size_t j = columns; j < width; ++j) to[k * width + j] = T{0};
  }
}

/// to (depth, width) = b (columns, depth) transposed, filled up with zeros.
template <class T>
void pack_transposed(std::size_t depth, std::size_t columns, std::size_t width, T const* b, std::size_t ldb, T* to) {
  constexpr std::size_t lanes = SimdVector<T>::lanes;
  for (std::size_t j = 0; j < width; j += lanes) {
    std::size_t k = 0;
    if (j + lanes <= columns)
      for (; k + lanes <= depth; k += lanes)
        SquareTransposition<T>::run([&](std::size_t i) { return b + (j + i) * ldb + k; }, to + k * width + j, width);
    for (; k < depth; ++k)
      for (std::size_t i = j; i < j + lanes; ++i) to[k * width + i] = i < columns ? b[i * ldb + k] : T{0};
  }
}

/// Distance of packed rows: were it a multiple of 4 KiB, all rows would begin in the same set of the first cache.
template <class T>
constexpr std::size_t packed_pitch(std::size_t depth) {
  constexpr std::size_t line = 64 / sizeof(T), page = 4096 / sizeof(T);
  return depth + ((depth + line) % page == 0 ? 2 * line : line);
}

/// to (rows, depth) = the transposed of a (depth, rows), whose row k is at a(k); the rows of `to` are `pitch` apart.
template <class T, class Rows>
void pack_left(std::size_t rows, std::size_t depth, Rows const& a, T* to, std::size_t pitch) {
  constexpr std::size_t lanes = SimdVector<T>::lanes;
  std::size_t const full_rows = rows / lanes * lanes, full_depth = depth / lanes * lanes;
  for (std::size_t k = 0; k < full_depth; k += lanes)
    for (std::size_t i = 0; i < full_rows; i += lanes)
      SquareTransposition<T>::run([&](std::size_t r) { return a(k + r) + i; }, to + i * pitch + k, pitch);
  for (std::size_t k = 0; k < depth; ++k)
    for (std::size_t i = k < full_depth ? full_rows : 0; i < rows; ++i) to[i * pitch + k] = a(k)[i];
}

/// b (columns, rows) = a (rows, columns) transposed, in blocks that stay in the cache.
template <class T>
void transpose(std::size_t rows, std::size_t columns, T const* a, std::size_t lda, T* b, std::size_t ldb) {
  constexpr std::size_t block = 16;
  for (std::size_t i = 0; i < rows; i += block)
    for (std::size_t j = 0; j < columns; j += block)
      for (std::size_t c = j; c < std::min(columns, j + block); ++c)
        for (std::size_t r = i; r < std::min(rows, i + block); ++r) b[c * ldb + r] = a[r * lda + c];
}

}  // namespace trireme::detail
