/// Gradients of a convolution whose results were pooled: only the position that was largest has one.
///
/// One filter at a time. Its gradients that are not zero are listed; then for each of them a filter is added to the
/// image's gradient, or a piece of the image to the filter's gradient, which stay in registers meanwhile.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "trireme/backend/simd.hpp"
#include "trireme/backend/simd_vector.hpp"

namespace trireme::detail {

/// A gradient, and where in the image its position's first tap is.
template <class T>
struct SparseEntry {
  T value;
  std::uint32_t offset;
};

/// Kernels of `Rows` rows, of which each covers `Length` contiguous numbers of the image: at least a vector of them.
///
/// In a packed kernel (filters, Rows, packed_length) rows are whole vectors. The last vector covers the last numbers
/// of the row and so may overlap the one before; its first lanes are zero then.
template <class T, std::size_t Rows, std::size_t Length>
class SparseGradient {
  using Vector = SimdVector<T>;
  using V = typename Vector::type;
  static constexpr std::size_t lanes = Vector::lanes;
  static_assert(Length >= lanes);
  static constexpr std::size_t vectors = (Length + lanes - 1) / lanes;
  /// Where the last vector begins.
  static constexpr std::size_t last = Length - lanes;

  // A tile is some vectors of a row, or some rows: what fits the registers beside a factor, the tiles as equal as can
  // be.
  static constexpr std::size_t most = simd_registers > 4 ? simd_registers - 4 : 4;
  static constexpr std::size_t pieces = (vectors + most - 1) / most;
  static constexpr std::size_t piece(std::size_t i) { return vectors * i / pieces; }
  static constexpr std::size_t row_tiles =
      (Rows + std::max<std::size_t>(1, most / vectors) - 1) / std::max<std::size_t>(1, most / vectors);
  static constexpr std::size_t first_row(std::size_t i) { return Rows * i / row_tiles; }

 public:
  using Entry = SparseEntry<T>;
  static constexpr std::size_t packed_length = vectors * lanes;
  static constexpr std::size_t packed_size = Rows * packed_length;

  /// kernel (Rows, Length, filters) to packed (filters, Rows, packed_length).
  static void pack(std::size_t filters, T const* kernel, T* packed) {
    std::fill_n(packed, filters * packed_size, T{0});
    for_each_element(filters, [&](std::size_t plain, std::size_t there) { packed[there] = kernel[plain]; });
  }
  static void unpack(std::size_t filters, T const* packed, T* kernel) {
    for_each_element(filters, [&](std::size_t plain, std::size_t there) { kernel[plain] = packed[there]; });
  }

  /// packed += for each entry, its value times what its position's taps cover; one filter.
  static void add_kernel_gradient(Entry const* entries, std::size_t count, T const* image, std::size_t row_stride,
                                  T* packed) {
    for_tiles([&]<std::size_t R, std::size_t V0, std::size_t V1>(std::size_t row) {
      gather<R, V0, V1>(entries, count, image + row * row_stride, row_stride, packed + row * packed_length);
    });
  }

  /// image += for each entry, its value times the filter, where its position's taps are.
  static void add_input_gradient(Entry const* entries, std::size_t count, T const* packed, T* image,
                                 std::size_t row_stride) {
    for_tiles([&]<std::size_t R, std::size_t V0, std::size_t V1>(std::size_t row) {
      scatter<R, V0, V1>(entries, count, packed + row * packed_length, image + row * row_stride, row_stride);
    });
  }

 private:
  template <class F>
  static void for_each_element(std::size_t filters, F const& f) {
    for (std::size_t r = 0; r < Rows; ++r)
      for (std::size_t l = 0; l < Length; ++l) {
        std::size_t const column = l < (vectors - 1) * lanes ? l : l - last + (vectors - 1) * lanes;
        for (std::size_t o = 0; o < filters; ++o)
          f((r * Length + l) * filters + o, o * packed_size + r * packed_length + column);
      }
  }

  template <class F>
  static void for_tiles(F const& f) {
    for_row_tiles<0>(f);
  }
  template <std::size_t I, class F>
  static void for_row_tiles(F const& f) {
    for_pieces<first_row(I), first_row(I + 1) - first_row(I), 0>(f);
    if constexpr (I + 1 < row_tiles) for_row_tiles<I + 1>(f);
  }
  template <std::size_t Row, std::size_t R, std::size_t P, class F>
  static void for_pieces(F const& f) {
    f.template operator()<R, piece(P), piece(P + 1)>(Row);
    if constexpr (P + 1 < pieces) for_pieces<Row, R, P + 1>(f);
  }

  static constexpr std::size_t begin_of(std::size_t vector) { return vector + 1 < vectors ? vector * lanes : last; }

  template <std::size_t R, std::size_t V0, std::size_t V1>
  [[gnu::noinline]] static void gather(Entry const* entries, std::size_t count, T const* image, std::size_t row_stride,
                                       T* packed) {
    V sums[R][V1 - V0];
    TRIREME_UNROLL(32)
    for (std::size_t r = 0; r < R; ++r) TRIREME_UNROLL(32)
    for (std::size_t v = V0; v < V1; ++v) sums[r][v - V0] = Vector::load(packed + r * packed_length + v * lanes);
    for (std::size_t i = 0; i < count; ++i) {
      T const factor = entries[i].value;
      T const* const from = image + entries[i].offset;
      TRIREME_UNROLL(32)
      for (std::size_t r = 0; r < R; ++r) TRIREME_UNROLL(32)
      for (std::size_t v = V0; v < V1; ++v)
        sums[r][v - V0] += factor * Vector::load(from + r * row_stride + begin_of(v));
    }
    TRIREME_UNROLL(32)
    for (std::size_t r = 0; r < R; ++r) TRIREME_UNROLL(32)
    for (std::size_t v = V0; v < V1; ++v) Vector::store(packed + r * packed_length + v * lanes, sums[r][v - V0]);
  }

  template <std::size_t R, std::size_t V0, std::size_t V1>
  [[gnu::noinline]] static void scatter(Entry const* entries, std::size_t count, T const* packed, T* image,
                                        std::size_t row_stride) {
    V taps[R][V1 - V0];
    TRIREME_UNROLL(32)
    for (std::size_t r = 0; r < R; ++r) TRIREME_UNROLL(32)
    for (std::size_t v = V0; v < V1; ++v) taps[r][v - V0] = Vector::load(packed + r * packed_length + v * lanes);
    for (std::size_t i = 0; i < count; ++i) {
      T const factor = entries[i].value;
      T* const to = image + entries[i].offset;
      TRIREME_UNROLL(32)
      for (std::size_t r = 0; r < R; ++r) TRIREME_UNROLL(32)
      for (std::size_t v = V0; v < V1; ++v) {
        T* const at = to + r * row_stride + begin_of(v);
        Vector::store(at, Vector::load(at) + factor * taps[r][v - V0]);
      }
    }
  }
};

}  // namespace trireme::detail
