/// Philox4x32-10: random numbers as a pure function of a counter and a key, without any state.
///
/// Each number has a name (its parameter or its row and step), so the same number comes out for any number of ranks,
/// threads and replicas. streams.hpp turns names into counters and keys.
/// Source: Salmon, Moraes, Dror, Shaw, "Parallel random numbers: as easy as 1, 2, 3", SC 2011 (Random123).
#pragma once

#include <cstdint>

#include <Kokkos_Array.hpp>

namespace trireme {

/// Counter and key of Philox4x32.
using PhiloxCounter = Kokkos::Array<std::uint32_t, 4>;
using PhiloxKey = Kokkos::Array<std::uint32_t, 2>;

/// Philox4x32-10: four random numbers as a pure function of a counter and a key.
struct Philox4x32 {
  static constexpr int rounds = 10;

  /// The four random words that belong to this counter and key. For one key it is a bijection of the counters.
  static KOKKOS_FUNCTION PhiloxCounter block(PhiloxCounter counter, PhiloxKey key) {
    std::uint32_t c0 = counter[0], c1 = counter[1], c2 = counter[2], c3 = counter[3];
    std::uint32_t k0 = key[0], k1 = key[1];
    for (int round = 0; round < rounds; ++round) {
      std::uint64_t const a = std::uint64_t{0xD2511F53u} * c0;
      std::uint64_t const b = std::uint64_t{0xCD9E8D57u} * c2;
      c0 = static_cast<std::uint32_t>(b >> 32) ^ c1 ^ k0;
      c2 = static_cast<std::uint32_t>(a >> 32) ^ c3 ^ k1;
      c1 = static_cast<std::uint32_t>(b);
      c3 = static_cast<std::uint32_t>(a);
      k0 += 0x9E3779B9u;  // Weyl sequence: golden ratio
      k1 += 0xBB67AE85u;  // and the square root of 3, minus 1
    }
    return {{c0, c1, c2, c3}};
  }
};

}  // namespace trireme
