/// Definitions of trireme/core/hash.hpp.
#pragma once

#include "trireme/core/hash.hpp"

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "trireme/core/linkage.hpp"

namespace trireme::data {

TRIREME_INLINE std::uint64_t hash_bytes(void const* data, std::size_t size) {
  constexpr std::uint64_t factor = 0x9FB21C651E98DF25u;
  auto const* bytes = static_cast<unsigned char const*>(data);
  std::uint64_t chain[4] = {1, 2, 3, 4};
  auto const absorb = [&](std::size_t lane, std::uint64_t word) {
    chain[lane] = std::rotl(chain[lane] ^ word, 29) * factor;
  };
  std::size_t i = 0;
  for (; i + 32 <= size; i += 32) {
    std::uint64_t words[4];
    std::memcpy(words, bytes + i, 32);
    for (std::size_t lane = 0; lane < 4; ++lane) absorb(lane, words[lane]);
  }
  for (std::size_t lane = 0; i < size; i += 8, ++lane) {
    std::uint64_t word = 0;
    std::memcpy(&word, bytes + i, size - i < 8 ? size - i : 8);
    absorb(lane, word);
  }
  std::uint64_t hash = size;
  for (std::uint64_t const value : chain) hash = hash_combine(hash, value);
  return hash;
}

}  // namespace trireme::data
