/// Places of buffers by their lives: buffers that are never needed at once share memory.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>

namespace trireme::detail {

/// A buffer of so many bytes, needed from step `first` to step `last`, both included.
struct BufferLife {
  std::size_t bytes = 0, first = 0, last = 0;
};

/// The bytes that all buffers take together; `offsets` becomes where each lies. The largest are placed first, each at
/// the lowest offset at which no buffer of the same time lies.
template <std::size_t N>
constexpr std::size_t plan_buffers(std::array<BufferLife, N> const& buffers, std::array<std::size_t, N>& offsets) {
  std::array<std::size_t, N> order{};
  for (std::size_t i = 0; i < N; ++i) order[i] = i;
  std::ranges::sort(order, [&](std::size_t a, std::size_t b) {
    return buffers[a].bytes != buffers[b].bytes ? buffers[a].bytes > buffers[b].bytes : a < b;
  });
  std::size_t end = 0;
  for (std::size_t n = 0; n < N; ++n) {
    BufferLife const& own = buffers[order[n]];
    std::size_t offset = 0;
    for (std::size_t m = 0; m < n;) {
      BufferLife const& other = buffers[order[m]];
      std::size_t const begin = offsets[order[m]];
      bool const meet = own.first <= other.last && other.first <= own.last;
      if (meet && offset < begin + other.bytes && begin < offset + own.bytes) {
        offset = begin + other.bytes;
        m = 0;
      } else {
        ++m;
      }
    }
    offsets[order[n]] = offset;
    end = std::max(end, offset + own.bytes);
  }
  return end;
}

}  // namespace trireme::detail
