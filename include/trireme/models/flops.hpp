/// Floating-point operations of a model's slices, and the cuts that balance them.
#pragma once

#include <array>
#include <cstddef>

#include "trireme/models/layer_flops.hpp"
#include "trireme/models/slices.hpp"

namespace trireme {

/// Floating-point operations of each slice's forward, for one sample.
template <class SlicesType>
constexpr std::array<std::size_t, SlicesType::count> slice_flops(SlicesType const& slices) {
  std::array<std::size_t, SlicesType::count> flops{};
  slices.for_each([&](std::size_t i, auto const& slice, auto const& in) { flops[i] = detail::layer_flops(slice, in); });
  return flops;
}

/// Cuts of `costs` into `stages` groups in order, none of them empty, so that the dearest group costs least. The first
/// `stages` elements of the result are the beginnings of the groups, and the element after them is the end.
/// 1 <= stages <= N.
template <std::size_t N>
constexpr std::array<std::size_t, N + 1> balanced_cuts(std::array<std::size_t, N> const& costs, std::size_t stages) {
  std::array<std::size_t, N + 1> sums{};
  for (std::size_t i = 0; i < N; ++i) sums[i + 1] = sums[i] + costs[i];
  // dearest[s][i]: of the first i costs in s + 1 groups; the last of these begins at last[s][i].
  std::array<std::array<std::size_t, N + 1>, N> dearest{}, last{};
  dearest[0] = sums;
  for (std::size_t s = 1; s < stages; ++s)
    for (std::size_t i = s + 1; i <= N; ++i) {
      dearest[s][i] = static_cast<std::size_t>(-1);
      for (std::size_t j = s; j < i; ++j) {
        std::size_t const group = sums[i] - sums[j], before = dearest[s - 1][j];
        std::size_t const worst = group > before ? group : before;
        if (worst < dearest[s][i]) {
          dearest[s][i] = worst;
          last[s][i] = j;
        }
      }
    }
  std::array<std::size_t, N + 1> begins{};
  begins[stages] = N;
  for (std::size_t s = stages; s-- > 1;) begins[s] = last[s][begins[s + 1]];
  return begins;
}

}  // namespace trireme
