// Data that every program makes alike, in C++ as in Python (benchmarks/peers/cases.py): numbers from a counter.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include <trireme/tensor/host_tensor.hpp>

namespace bench {

namespace tr = trireme;

/// Batches that are trained on in turn: 16, or as many as take 64 MB.
constexpr std::size_t distinct_batches(std::size_t batch, std::size_t sample_size) {
  return std::clamp<std::size_t>((std::size_t{64} << 20) / (batch * sample_size * sizeof(float)), 2, 16);
}

/// SplitMix64 of a counter. Source: Steele, Lea and Flood, Fast splittable pseudorandom number generators (2014).
inline std::uint64_t hash(std::uint64_t counter) {
  std::uint64_t z = (counter + 1) * 0x9e3779b97f4a7c15u;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

/// In [0, 1), a multiple of 2^-24.
inline float uniform(std::uint64_t counter) { return static_cast<float>(hash(counter) >> 40) * 0x1p-24f; }

template <class Y>
struct Samples {
  tr::HostTensor<float> x;
  tr::HostTensor<Y> y;
};

/// Ten classes: of the features, those whose index ends in the class are brighter. One label in four is drawn anew, so
/// that the loss stays away from zero.
inline Samples<std::int32_t> labelled(std::vector<std::size_t> extents) {
  std::size_t const count = extents[0];
  tr::NewHostTensor<float> x(std::move(extents));
  tr::NewHostTensor<std::int32_t> y({count});
  std::size_t const size = x.tensor.size() / count;
  for (std::size_t i = 0; i < count; ++i) {
    std::uint64_t const draw = hash(~std::uint64_t{i});
    std::size_t const shown = draw % 10;
    y.memory.get()[i] = static_cast<std::int32_t>(draw >> 62 == 0 ? (draw >> 32) % 10 : shown);
    for (std::size_t j = 0; j < size; ++j)
      x.memory.get()[i * size + j] = 0.5f * uniform(i * size + j) + (j % 10 == shown ? 0.5f : 0.0f);
  }
  return {x.tensor, y.tensor};
}

/// Square grey images with a brighter disc, and for each pixel whether it lies in it. One answer in four is drawn anew.
inline Samples<float> discs(std::size_t count, std::size_t side) {
  tr::NewHostTensor<float> x({count, side, side, 1}), y({count, side, side, 1});
  for (std::size_t i = 0; i < count; ++i) {
    std::uint64_t const draw = hash(~std::uint64_t{i});
    auto const of = [&](unsigned shift, std::size_t size) {
      return static_cast<std::ptrdiff_t>((draw >> shift) % size);
    };
    auto const quarter = static_cast<std::ptrdiff_t>(side / 4);
    std::ptrdiff_t const row = quarter + of(0, side / 2), column = quarter + of(16, side / 2),
                         radius = 4 + of(32, side / 4);
    for (std::size_t j = 0; j < side * side; ++j) {
      std::size_t const at = i * side * side + j;
      std::ptrdiff_t const down = static_cast<std::ptrdiff_t>(j / side) - row;
      std::ptrdiff_t const across = static_cast<std::ptrdiff_t>(j % side) - column;
      bool const inside = down * down + across * across < radius * radius;
      x.memory.get()[at] = 0.5f * uniform(at) + (inside ? 0.5f : 0.0f);
      std::uint64_t const noise = hash(at) & 7u;
      y.memory.get()[at] = (noise < 2 ? noise == 1 : inside) ? 1.0f : 0.0f;
    }
  }
  return {x.tensor, y.tensor};
}

/// A smooth function of three numbers in [-1, 1).
inline Samples<float> surface(std::size_t count) {
  tr::NewHostTensor<float> x({count, 3}), y({count, 1});
  for (std::size_t i = 0; i < 3 * count; ++i) x.memory.get()[i] = 2 * uniform(i) - 1;
  for (std::size_t i = 0; i < count; ++i) {
    float const* const p = x.memory.get() + 3 * i;
    y.memory.get()[i] = std::sin(2 * p[0]) * p[1] + 0.5f * p[2];
  }
  return {x.tensor, y.tensor};
}

}  // namespace bench
