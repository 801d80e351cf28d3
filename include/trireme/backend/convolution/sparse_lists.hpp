/// The gradients of one pooled sample that are not zero, listed by filter or by position.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "trireme/backend/convolution/tally.hpp"
#include "trireme/backend/convolution/tap_vector.hpp"
#include "trireme/tensor/arena.hpp"

namespace trireme::detail {

/// A gradient, and the offset of its other factor.
template <class T>
struct SparseEntry {
  T value;
  std::uint32_t offset;
};

/// Pooling windows of one sample, and the distances in the image between positions below and beside each other.
struct PooledSample {
  std::size_t lines, columns, filters, row_size, channels;
  constexpr std::size_t windows() const { return lines * columns; }
};

/// Pooling windows of H x W. Lists are made without branches, since zero gradients are unpredictable.
template <class T, std::size_t H, std::size_t W>
class SparseLists {
 public:
  using Entry = SparseEntry<T>;
  using Tap = PoolTap<H * W>;

  static constexpr std::size_t workspace(std::size_t windows, std::size_t filters) {
    return aligned_bytes((windows + H * W) * filters * sizeof(Entry)) +
           aligned_bytes(std::max(filters, windows * H * W) * sizeof(std::uint32_t)) +
           aligned_bytes(windows * H * W * sizeof(std::uint32_t));
  }

  SparseLists(PooledSample const& sample, Workspace workspace)
      : s_(sample),
        entries_(workspace.take<Entry>((s_.windows() + H * W) * s_.filters)),
        counts_(workspace.take<std::uint32_t>(std::max(s_.filters, s_.windows() * H * W))),
        offsets_(workspace.take<std::uint32_t>(s_.windows() * H * W)) {}

  Entry const* entries() const { return entries_; }
  std::uint32_t const* counts() const { return counts_; }
  std::uint32_t const* offsets() const { return offsets_; }

  /// counts()[filter] entries of each filter with their offsets in the image; one filter's entries begin windows()
  /// after those of the one before.
  void by_filter(T const* dy, Tap const* taps) {
    std::uint32_t offsets[H * W];
    for (std::size_t p = 0; p < H * W; ++p) offsets[p] = image_offset(0, 0, p);
    for (std::size_t o = 0; o < s_.filters; ++o) {
      Entry* const entries = entries_ + o * s_.windows();
      std::uint32_t count = 0;
      std::size_t e = o;
      for (std::size_t line = 0; line < s_.lines; ++line)
        for (std::size_t column = 0; column < s_.columns; ++column, e += s_.filters) {
          entries[count] = {dy[e], image_offset(line, column, 0) + offsets[taps[e]]};
          count += is_zero(dy[e]) ? 0 : 1;
        }
      counts_[o] = count;
    }
  }

  /// counts()[position] entries, one position's behind those of the one before, with the offsets of their filters if
  /// filters are `distance` apart; offsets()[position] is the position's offset in the image.
  void by_position(T const* dy, Tap const* taps, std::size_t distance) {
    if constexpr (H * W <= 4)
      if (s_.filters < Tally<H * W, true>::limit) return by_position<Tally<H * W, true>>(dy, taps, distance);
    by_position<Tally<H * W, false>>(dy, taps, distance);
  }

 private:
  std::uint32_t image_offset(std::size_t line, std::size_t column, std::size_t tap) const {
    return static_cast<std::uint32_t>((line * H + tap / W) * s_.row_size + (column * W + tap % W) * s_.channels);
  }

  template <class Counts>
  void by_position(T const* dy, Tap const* taps, std::size_t distance) {
    Entry* entries = entries_;
    Entry* const buckets = entries_ + s_.windows() * s_.filters;
    std::uint32_t *counts = counts_, *offsets = offsets_;
    for (std::size_t line = 0; line < s_.lines; ++line)
      for (std::size_t column = 0; column < s_.columns; ++column, dy += s_.filters, taps += s_.filters) {
        Counts tally;
        for (std::size_t o = 0; o < s_.filters; ++o) {
          buckets[taps[o] * s_.filters + tally[taps[o]]] = {dy[o], static_cast<std::uint32_t>(o * distance)};
          tally.add(taps[o], is_zero(dy[o]) ? 0 : 1);
        }
        for (std::size_t p = 0; p < H * W; ++p) {
          *counts = static_cast<std::uint32_t>(tally[p]);
          *offsets++ = image_offset(line, column, p);
          entries = std::copy_n(buckets + p * s_.filters, *counts++, entries);
        }
      }
  }

  /// True if all bits except the sign are zero: cheaper than comparing the values.
  static bool is_zero(T value) {
    using Bits = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;
    return std::bit_cast<Bits>(value) << 1 == 0;
  }

  PooledSample s_;
  Entry* entries_;
  std::uint32_t* counts_;
  std::uint32_t* offsets_;
};

}  // namespace trireme::detail
