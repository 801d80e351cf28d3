/// Uniform integers and permutations that are the same for any number of processes and threads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <numeric>
#include <utility>
#include <vector>

#include "trireme/core/streams.hpp"

namespace trireme::data {

/// Unbiased random integers, a pure function of (seed, part, pass).
class IndexSequence {
 public:
  /// \param part  0, or the process whose own samples are shuffled.
  IndexSequence(std::uint64_t seed, std::uint32_t part, std::uint64_t pass)
      : stream_(seed, Purpose::shuffle, part, pass) {}

  /// Uniform in [0, bound), bound > 0. Source: Lemire, "Fast random integer generation in an interval", 2019.
  std::size_t below(std::size_t bound) {
    if (bound <= 0xFFFFFFFFu) {
      auto const range = static_cast<std::uint32_t>(bound);
      std::uint64_t product = std::uint64_t{word()} * range;
      if (static_cast<std::uint32_t>(product) < range) {
        std::uint32_t const rejected = (0u - range) % range;
        while (static_cast<std::uint32_t>(product) < rejected) product = std::uint64_t{word()} * range;
      }
      return static_cast<std::size_t>(product >> 32);
    }
    std::uint64_t const rejected = (std::uint64_t{0} - bound) % bound;
    std::uint64_t draw = long_word();
    while (draw < rejected) draw = long_word();
    return static_cast<std::size_t>(draw % bound);
  }

 private:
  std::uint32_t word() {
    if (used_ == 4) {
      words_ = stream_.block(next_block_++, 0);
      used_ = 0;
    }
    return words_[used_++];
  }
  std::uint64_t long_word() {
    std::uint64_t const low = word();
    return (std::uint64_t{word()} << 32) | low;
  }

  RandomStream stream_;
  PhiloxCounter words_{};
  std::size_t used_ = 4;
  std::uint64_t next_block_ = 0;
};

/// Fills `order` with a permutation of 0 ... size - 1 (Fisher and Yates). Allocates only if `order` has to grow.
inline void permute(std::vector<std::size_t>& order, std::size_t size, IndexSequence random) {
  order.resize(size);
  std::iota(order.begin(), order.end(), std::size_t{0});
  for (std::size_t i = size; i > 1; --i) std::swap(order[i - 1], order[random.below(i)]);
}

}  // namespace trireme::data
