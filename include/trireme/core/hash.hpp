/// A number that tells whether processes hold the same data.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

namespace trireme::data {

/// Equal on every process whose dataset is the same: its samples, their content and what is done with them.
struct Checksum {
  std::uint64_t samples = 0;  ///< 0 if not known
  std::uint64_t hash = 0;

  bool operator==(Checksum const&) const = default;
};

/// One hash from a hash and a number.
constexpr std::uint64_t hash_combine(std::uint64_t hash, std::uint64_t value) {
  std::uint64_t x = hash ^ (value + 0x9E3779B97F4A7C15u + (hash << 6) + (hash >> 2));
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u;  // the finalizer of SplitMix64
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBu;
  return x ^ (x >> 31);
}

/// A hash of every byte; four chains, so that it runs at the speed of memory. Not for adversaries.
inline std::uint64_t hash_bytes(void const* data, std::size_t size) {
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

/// The hash of a tensor's extents.
inline std::uint64_t hash_extents(std::vector<std::size_t> const& extents) {
  return hash_bytes(extents.data(), extents.size() * sizeof(std::size_t));
}

}  // namespace trireme::data
