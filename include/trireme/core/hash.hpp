/// A number that tells whether processes hold the same data.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
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
std::uint64_t hash_bytes(void const* data, std::size_t size);

/// Hash of the bits of floating-point numbers, equal for all NaN: a sum of two NaN has the bits of either, so that
/// those of a reduction may differ between processes.
template <class T>
std::uint64_t hash_numbers(std::vector<T> values) {
  for (T& value : values)
    if (std::isnan(value)) value = std::numeric_limits<T>::quiet_NaN();
  return hash_bytes(values.data(), values.size() * sizeof(T));
}

/// The hash of a tensor's extents.
inline std::uint64_t hash_extents(std::vector<std::size_t> const& extents) {
  return hash_bytes(extents.data(), extents.size() * sizeof(std::size_t));
}

}  // namespace trireme::data

#ifndef TRIREME_COMPILED
#include "trireme/core/hash.ipp"
#endif
