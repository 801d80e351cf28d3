/// Names of random numbers: counters and keys for Philox4x32-10.
///
/// Two levels, so that nothing is truncated and no two streams overlap:
///   1. the key of a stream is one block: under the user's 64-bit seed as key, the counter holds the stream's
///      `Purpose` and 96 bits of its name; the first two words become the key of the stream;
///   2. under that key, the counter holds two 64-bit coordinates of a number in its stream.
/// For rows of a batch (dropout, noise) the name is (layer, optimizer step, micro-step) and the coordinates are the row
/// in the global batch and the group of elements; for initializers they are the parameter's path and the element.
#pragma once

#include <cstdint>
#include <string_view>

#include <Kokkos_MathematicalConstants.hpp>
#include <Kokkos_MathematicalFunctions.hpp>

#include "trireme/core/philox.hpp"

namespace trireme {

/// Purpose of a stream; streams of different purposes never share a key.
enum class Purpose : std::uint32_t { dropout = 1, initializer = 2, shuffle = 3, noise = 4 };

/// Uniform in [0, 1) with the 24 bits of a float.
KOKKOS_INLINE_FUNCTION float uniform_float(std::uint32_t word) { return static_cast<float>(word >> 8) * 0x1p-24f; }

/// Uniform in [0, 1) with the 53 bits of a double.
KOKKOS_INLINE_FUNCTION double uniform_double(std::uint32_t low, std::uint32_t high) {
  std::uint64_t const word = (std::uint64_t{high} << 32) | low;
  return static_cast<double>(word >> 11) * 0x1p-53;
}

/// Standard normal from one block (Box-Muller, one of the pair, so that a number has a block of its own).
KOKKOS_INLINE_FUNCTION double normal_double(PhiloxCounter const& words) {
  double const u = 1.0 - uniform_double(words[0], words[1]);  // in (0, 1]
  double const v = uniform_double(words[2], words[3]);
  return Kokkos::sqrt(-2.0 * Kokkos::log(u)) * Kokkos::cos(2.0 * Kokkos::numbers::pi_v<double> * v);
}

/// The numbers of one stream, found by two coordinates.
struct RandomStream {
  PhiloxKey key;

  /// Stream of a purpose; `name` and `name64` distinguish the streams of one purpose.
  KOKKOS_FUNCTION RandomStream(std::uint64_t seed, Purpose purpose, std::uint32_t name, std::uint64_t name64)
      : key(derive(seed, purpose, name, name64)) {}

  /// Four random words at the coordinates (a, b).
  KOKKOS_FUNCTION PhiloxCounter block(std::uint64_t a, std::uint64_t b) const {
    return Philox4x32::block({{low(a), high(a), low(b), high(b)}}, key);
  }

  /// Lower 32 bits.
  static KOKKOS_FUNCTION std::uint32_t low(std::uint64_t x) { return static_cast<std::uint32_t>(x); }
  /// Upper 32 bits.
  static KOKKOS_FUNCTION std::uint32_t high(std::uint64_t x) { return static_cast<std::uint32_t>(x >> 32); }

 private:
  static KOKKOS_FUNCTION PhiloxKey derive(std::uint64_t seed, Purpose purpose, std::uint32_t name,
                                          std::uint64_t name64) {
    PhiloxCounter const words = Philox4x32::block(
        {{static_cast<std::uint32_t>(purpose), name, low(name64), high(name64)}}, {{low(seed), high(seed)}});
    return {{words[0], words[1]}};
  }
};

/// The numbers that a layer draws for the rows of one step, independent of the rank, replica or thread that has the
/// row.
struct RowStream {
  RandomStream stream;

  /// \param layer       index of the layer in the model, below 65536.
  /// \param step        optimizer step.
  /// \param micro_step  part of the step under gradient accumulation, below 65536.
  KOKKOS_FUNCTION RowStream(std::uint64_t seed, std::uint32_t layer, std::uint64_t step, std::uint32_t micro_step = 0,
                            Purpose purpose = Purpose::dropout)
      : stream(seed, purpose, (layer << 16) | (micro_step & 0xFFFFu), step) {}

  /// Words for the elements 4 * group to 4 * group + 3 of this row of the global batch.
  KOKKOS_FUNCTION PhiloxCounter block(std::uint64_t row, std::uint64_t group) const { return stream.block(row, group); }

  /// Uniform in [0, 1): the same for models in float and in double, so that both have the same dropout mask.
  KOKKOS_FUNCTION float uniform(std::uint64_t row, std::uint64_t element) const {
    return uniform_float(block(row, element / 4)[element % 4]);
  }

  /// Standard normal.
  KOKKOS_FUNCTION double normal(std::uint64_t row, std::uint64_t element) const {
    return normal_double(block(row, element));
  }
};

/// FNV-1a, 64 bits: the number that stands for a parameter's path.
constexpr std::uint64_t path_hash(std::string_view path) {
  std::uint64_t hash = 0xCBF29CE484222325u;
  for (char const c : path) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001B3u;
  return hash;
}

/// The numbers that a parameter starts from: element e depends on (seed, path, e) alone.
struct ParameterStream {
  RandomStream stream;

  /// Stream of the parameter of this path, such as "dense/kernel".
  ParameterStream(std::uint64_t seed, std::string_view path) : stream(seed, Purpose::initializer, 0, path_hash(path)) {}

  /// Uniform in [0, 1).
  double uniform(std::uint64_t element) const {
    PhiloxCounter const words = stream.block(element, 0);
    return uniform_double(words[0], words[1]);
  }

  /// Standard normal; `attempt` counts the draws of an element that has to draw again.
  double normal(std::uint64_t element, std::uint64_t attempt = 0) const {
    return normal_double(stream.block(element, attempt));
  }
};

}  // namespace trireme
