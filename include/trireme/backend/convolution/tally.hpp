/// Small counters that are read right after they were written.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace trireme::detail {

/// N counters in memory: a read waits some cycles after a write.
template <std::size_t N, bool Packed>
class Tally {
 public:
  std::size_t operator[](std::size_t i) const { return counts_[i]; }
  void add(std::size_t i, std::size_t n) { counts_[i] += n; }

 private:
  std::array<std::size_t, N> counts_{};
};

/// Up to four share a register, 16 bits each.
template <std::size_t N>
class Tally<N, true> {
 public:
  static_assert(N <= 4);
  static constexpr std::size_t limit = std::size_t{1} << 16;  ///< no count reaches it

  std::size_t operator[](std::size_t i) const { return counts_ >> 16 * i & 0xffffu; }
  void add(std::size_t i, std::size_t n) { counts_ += std::uint64_t{n} << 16 * i; }

 private:
  std::uint64_t counts_ = 0;
};

}  // namespace trireme::detail
