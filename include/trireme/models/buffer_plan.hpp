/// Places of buffers by their lives: buffers that are never needed at once share memory.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <limits>

namespace trireme::detail {

/// A buffer of a size, needed from step `first` to step `last`, both included.
struct BufferLife {
  std::size_t size = 0, first = 0, last = 0;

  /// Makes it larger, and needed in these steps too.
  constexpr void add(std::size_t more, std::size_t from, std::size_t to) {
    size += more;
    first = std::min(first, from);
    last = std::max(last, to);
  }
};
/// A buffer that nothing has been added to.
inline constexpr BufferLife unborn{0, std::numeric_limits<std::size_t>::max(), 0};

/// The size that all buffers take together; `offsets` becomes where each lies. In the order of time, a buffer takes the
/// free slot that fits best, or makes the largest one larger, so that the gradients of a chain go to and fro between
/// two.
template <std::size_t N>
constexpr std::size_t plan_buffers(std::array<BufferLife, N> const& buffers, std::array<std::size_t, N>& offsets) {
  struct Slot {
    std::size_t size = 0, last = 0, offset = 0;
  };
  std::array<Slot, N> slots{};
  std::array<std::size_t, N> order{}, slot_of{};
  std::size_t used = 0, slot_count = 0;
  for (std::size_t i = 0; i < N; ++i)
    if (buffers[i].size > 0) order[used++] = i;
  std::sort(order.begin(), order.begin() + used, [&](std::size_t a, std::size_t b) {
    return buffers[a].first != buffers[b].first ? buffers[a].first < buffers[b].first : a < b;
  });
  for (std::size_t n = 0; n < used; ++n) {
    BufferLife const& own = buffers[order[n]];
    std::size_t best = slot_count;
    for (std::size_t s = 0; s < slot_count; ++s) {
      if (slots[s].last >= own.first) continue;
      bool const fits = slots[s].size >= own.size;
      bool const best_fits = best < slot_count && slots[best].size >= own.size;
      if (best == slot_count ||
          (fits ? !best_fits || slots[s].size < slots[best].size : !best_fits && slots[s].size > slots[best].size))
        best = s;
    }
    if (best == slot_count) ++slot_count;
    slots[best].size = std::max(slots[best].size, own.size);
    slots[best].last = own.last;
    slot_of[order[n]] = best;
  }
  std::size_t end = 0;
  for (std::size_t s = 0; s < slot_count; ++s) {
    slots[s].offset = end;
    end += slots[s].size;
  }
  for (std::size_t n = 0; n < used; ++n) offsets[order[n]] = slots[slot_of[order[n]]].offset;
  return end;
}

}  // namespace trireme::detail
