/// Left operands of register-tile products: access to element (i, k) of a.
#pragma once

#include <algorithm>
#include <cstddef>
#include <numeric>

#include "trireme/backend/gemm/pack.hpp"
#include "trireme/backend/gemm/rows_view.hpp"
#include "trireme/backend/simd/simd.hpp"

namespace trireme::detail {

// An operand has
//   segments, segment       the number of segments, and of columns in each; column() iterates over these
//   depth(), from_row(i)    all of its columns; its rows from i on
//   between(k, count)       of one segment: its columns [k, k + count)
//   reads_badly(m, bytes)   optional: true if its m rows should be packed first; fewer than `bytes` never are
//   pack(m, to)             packs its first m rows, each packed_pitch(depth()) after the one before it
//   ask(i, count)           prefetches rows that are read soon, if processors cannot predict their addresses
//   column<Rows>(i, s)      elements of rows from i on, of one column of segment s after the other: column[r], ++column

/// Number of sets of a first-level cache, of 64 with lines of 64 bytes, that addresses so many bytes apart fall into.
constexpr std::size_t sets_reached(std::size_t bytes) {
  constexpr std::size_t sets = 64, line = 64;
  return std::min(sets, sets * line / std::gcd(bytes, sets * line));
}
/// Columns of a transposed matrix that are read in place: of at most so many numbers, unless their lines spread over so
/// many sets, and reaching over at most so many bytes, about what a second-level TLB maps.
inline constexpr std::size_t strided_depth = 512, strided_sets = 32, strided_reach = std::size_t{6} << 20;

/// Element (i, s * segment + r) is at first + i * row_stride + s * segment_stride + r * step: so the operand may be
/// transposed, or be the patches of an image without unfolding.
template <class T>
struct StridedOperand {
  T const* first;
  std::size_t row_stride, step;
  std::size_t segment, segments = 1, segment_stride = 0;

  std::size_t depth() const { return segments * segment; }
  StridedOperand from_row(std::size_t i) const {
    StridedOperand rest = *this;
    rest.first += i * row_stride;
    return rest;
  }
  StridedOperand between(std::size_t k, std::size_t count) const {
    StridedOperand part = *this;
    part.first += k * step;
    part.segment = count;
    return part;
  }

  /// A transposed matrix is packed only where caches hold its columns badly: packing takes a tenth of a product's time.
  bool reads_badly(std::size_t, std::size_t bytes) const {
    if (row_stride != 1 || segments != 1) return false;
    std::size_t const distance = step * sizeof(T), sets = sets_reached(distance);
    bool const in_place = sets > 1 && (segment <= strided_depth || sets >= strided_sets);
    return distance * segment > (in_place ? strided_reach : bytes);
  }
  void pack(std::size_t m, T* to) const {
    pack_left(m, segment, [this](std::size_t k) { return first + k * step; }, to, packed_pitch<T>(segment));
  }
  void ask(std::size_t, std::size_t) const {}

  template <std::size_t>
  struct Column {
    T const* first;
    std::size_t row_stride, step;
    T operator[](std::size_t i) const { return first[i * row_stride]; }
    void operator++() { first += step; }
  };
  template <std::size_t Rows>
  Column<Rows> column(std::size_t i, std::size_t s) const {
    return {first + i * row_stride + s * segment_stride, row_stride, step};
  }
};

/// Scattered rows: element (i, k) is rows[i][first + k].
template <class T>
struct ScatteredOperand {
  T const* const* rows;
  std::size_t first, segment;
  static constexpr std::size_t segments = 1;

  std::size_t depth() const { return segment; }
  ScatteredOperand from_row(std::size_t i) const { return {rows + i, first, segment}; }
  ScatteredOperand between(std::size_t k, std::size_t count) const { return {rows, first + k, count}; }

  void ask(std::size_t i, std::size_t count) const {
    for (std::size_t row = i; row < i + count; ++row) prefetch(rows[row] + first, segment);
  }

  template <std::size_t Rows>
  struct Column {
    T const* rows[Rows];
    std::size_t k;
    T operator[](std::size_t i) const { return rows[i][k]; }
    void operator++() { ++k; }
  };
  template <std::size_t Rows>
  Column<Rows> column(std::size_t i, std::size_t) const {
    Column<Rows> result{{}, first};
    std::copy_n(rows + i, Rows, result.rows);
    return result;
  }
};

/// The transposed of such rows: element (i, k) is rows[k][first + i].
template <class T>
struct TransposedScatteredOperand {
  T const* const* rows;
  std::size_t first, segment;
  static constexpr std::size_t segments = 1;

  std::size_t depth() const { return segment; }
  TransposedScatteredOperand from_row(std::size_t i) const { return {rows, first + i, segment}; }
  TransposedScatteredOperand between(std::size_t k, std::size_t count) const { return {rows + k, first, count}; }

  /// Hardware prefetchers cannot follow scattered rows.
  bool reads_badly(std::size_t m, std::size_t bytes) const { return m * segment * sizeof(T) > bytes; }
  void pack(std::size_t m, T* to) const {
    pack_left(m, segment, [this](std::size_t k) { return rows[k] + first; }, to, packed_pitch<T>(segment));
  }
  void ask(std::size_t, std::size_t) const {}

  template <std::size_t>
  struct Column {
    T const* const* row;
    std::size_t first;
    T operator[](std::size_t i) const { return (*row)[first + i]; }
    void operator++() { ++row; }
  };
  template <std::size_t Rows>
  Column<Rows> column(std::size_t i, std::size_t) const {
    return {rows, first + i};
  }
};

}  // namespace trireme::detail
