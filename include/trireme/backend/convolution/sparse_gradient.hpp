/// Gradients of a convolution whose results were pooled: only the position that was largest has one.
///
/// Lists the nonzero gradients by filter and by position. A filter's gradient is then the sum of the image pieces that
/// it was largest for, and the image's gradient at a position is the sum of the filters that were largest there; sums
/// stay in registers.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "trireme/backend/convolution/sparse_lists.hpp"
#include "trireme/backend/simd/simd.hpp"
#include "trireme/backend/simd/simd_vector.hpp"

namespace trireme::detail {

/// Kernels of `Rows` rows, each over `Length` contiguous numbers of the image: at least a vector of them.
///
/// In a packed kernel (Rows, filters, packed_length) rows are whole vectors. The last vector covers the last numbers of
/// the row and so may overlap the one before; its first lanes are zero then.
template <class T, std::size_t Rows, std::size_t Length>
class SparseGradient {
  using Vector = SimdVector<T>;
  using V = typename Vector::type;
  static constexpr std::size_t lanes = Vector::lanes;
  static_assert(Length >= lanes);
  static constexpr std::size_t vectors = (Length + lanes - 1) / lanes;
  /// Offset of the last vector.
  static constexpr std::size_t last = Length - lanes;

  // A tile is some vectors of a row, or some rows: as many as the registers hold beside a factor, in tiles as equal as
  // possible.
  static constexpr std::size_t most = simd_registers > 4 ? simd_registers - 4 : 4;
  static constexpr std::size_t pieces = (vectors + most - 1) / most;
  static constexpr std::size_t piece(std::size_t i) { return vectors * i / pieces; }
  static constexpr std::size_t row_tiles =
      (Rows + std::max<std::size_t>(1, most / vectors) - 1) / std::max<std::size_t>(1, most / vectors);
  static constexpr std::size_t first_row(std::size_t i) { return Rows * i / row_tiles; }

 public:
  using Entry = SparseEntry<T>;
  static constexpr std::size_t packed_length = vectors * lanes;
  static constexpr std::size_t packed_size(std::size_t filters) { return Rows * filters * packed_length; }

  /// kernel (Rows, Length, filters) to packed (Rows, filters, packed_length), and back.
  static void pack(std::size_t filters, T const* kernel, T* packed) {
    std::fill_n(packed, packed_size(filters), T{0});
    for_each_element(filters, [&](std::size_t plain, std::size_t there) { packed[there] = kernel[plain]; });
  }
  static void unpack(std::size_t filters, T const* packed, T* kernel) {
    for_each_element(filters, [&](std::size_t plain, std::size_t there) { kernel[plain] = packed[there]; });
  }

  /// packed += for each filter and each of its counts[filter] entries, the value times the numbers under the taps at
  /// the image's offset. Entries of a filter are `room` after those of the one before.
  static void add_kernel_gradient(std::size_t filters, Entry const* entries, std::uint32_t const* counts,
                                  std::size_t room, T const* image, std::size_t row_stride, T* packed) {
    for (std::size_t o = 0; o < filters; ++o)
      for_tiles([&]<std::size_t R, std::size_t V0, std::size_t V1>(std::size_t row) {
        add_pieces<R, V0, V1>(entries + o * room, counts[o], image + row * row_stride, row_stride,
                              packed + (row * filters + o) * packed_length, filters * packed_length);
      });
  }

  /// image += for each position and each of its entries (they follow each other), the value times the filter that
  /// begins at the packed kernel's offset.
  static void add_input_gradient(std::size_t filters, std::size_t positions, std::uint32_t const* offsets,
                                 std::uint32_t const* counts, Entry const* entries, T const* packed, T* image,
                                 std::size_t row_stride) {
    for (std::size_t row = 0; row < Rows; ++row)
      for_pieces<0>([&]<std::size_t V0, std::size_t V1>() {
        add_filters<V0, V1>(positions, offsets, counts, entries, packed + row * filters * packed_length,
                            image + row * row_stride);
      });
  }

 private:
  template <class F>
  static void for_each_element(std::size_t filters, F const& f) {
    for (std::size_t r = 0; r < Rows; ++r)
      for (std::size_t l = 0; l < Length; ++l) {
        std::size_t const column = l < (vectors - 1) * lanes ? l : l - last + (vectors - 1) * lanes;
        for (std::size_t o = 0; o < filters; ++o)
          f((r * Length + l) * filters + o, (r * filters + o) * packed_length + column);
      }
  }

  template <std::size_t I = 0, class F>
  static void for_tiles(F const& f) {
    for_pieces<0>([&]<std::size_t V0, std::size_t V1>() {
      f.template operator()<first_row(I + 1) - first_row(I), V0, V1>(first_row(I));
    });
    if constexpr (I + 1 < row_tiles) for_tiles<I + 1>(f);
  }
  template <std::size_t P, class F>
  static void for_pieces(F const& f) {
    f.template operator()<piece(P), piece(P + 1)>();
    if constexpr (P + 1 < pieces) for_pieces<P + 1>(f);
  }

  static constexpr std::size_t begin_of(std::size_t vector) { return vector + 1 < vectors ? vector * lanes : last; }

  template <std::size_t R, std::size_t V0, std::size_t V1>
  [[gnu::noinline]] static void add_pieces(Entry const* entries, std::size_t count, T const* image,
                                           std::size_t row_stride, T* packed, std::size_t packed_stride) {
    V sums[R][V1 - V0];
    TRIREME_UNROLL(32)
    for (std::size_t r = 0; r < R; ++r) TRIREME_UNROLL(32)
    for (std::size_t v = V0; v < V1; ++v) sums[r][v - V0] = Vector::load(packed + r * packed_stride + v * lanes);
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
    for (std::size_t v = V0; v < V1; ++v) Vector::store(packed + r * packed_stride + v * lanes, sums[r][v - V0]);
  }

  template <std::size_t V0, std::size_t V1>
  [[gnu::noinline]] static void add_filters(std::size_t positions, std::uint32_t const* offsets,
                                            std::uint32_t const* counts, Entry const* entries, T const* packed,
                                            T* image) {
    for (std::size_t p = 0; p < positions; ++p) {
      if (counts[p] == 0) continue;
      V sums[V1 - V0] = {};
      for (Entry const* const end = entries + counts[p]; entries < end; ++entries) {
        T const factor = entries->value;
        T const* const from = packed + entries->offset;
        TRIREME_UNROLL(32)
        for (std::size_t v = V0; v < V1; ++v) sums[v - V0] += factor * Vector::load(from + v * lanes);
      }
      T* const to = image + offsets[p];
      TRIREME_UNROLL(32)
      for (std::size_t v = V0; v < V1; ++v)
        Vector::store(to + begin_of(v), Vector::load(to + begin_of(v)) + sums[v - V0]);
    }
  }
};

}  // namespace trireme::detail
