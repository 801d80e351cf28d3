/// GaussianNoise in a program, with the same random bits as the kernels.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include <Kokkos_MathematicalConstants.hpp>

#include "trireme/core/streams.hpp"
#include "trireme/layers/gaussian_noise.hpp"
#include "trireme/pjrt/lowering/dropout.hpp"
#include "trireme/pjrt/lowering/layer.hpp"
#include "trireme/pjrt/lowering/traced.hpp"

namespace trireme::lowering {

/// Standard normal numbers, one from each block of words, as normal_double makes them.
template <class E>
Traced<double, E> normal_numbers(Builder& b, std::array<Value<std::uint32_t, E>, 4> const& words) {
  using Number = Traced<double, E>;
  auto const uniform = [&](auto const& low, auto const& high) {
    auto const wide = b.convert<std::uint64_t>(high);
    auto const shifted = b.binary<"shift_left">(wide, b.constant_like<std::uint64_t>(32, wide));
    auto const word = b.binary<"or">(shifted, b.convert<std::uint64_t>(low));
    auto const bits = b.binary<"shift_right_logical">(word, b.constant_like<std::uint64_t>(11, word));
    return Number(b, b.convert<double>(bits)) * Number(0x1p-53);
  };
  auto const u = Number(1) - uniform(words[0], words[1]), v = uniform(words[2], words[3]);
  return sqrt(Number(-2) * log(u)) * cos(Number(2 * Kokkos::numbers::pi_v<double>) * v);
}

template <>
struct LayerLowering<GaussianNoise> {
  template <class T, class E>
  static auto forward(Trace<T>& trace, GaussianNoise const& layer, Value<T, E> const& x) {
    auto y = x;
    if (trace.training() && layer.stddev > 0) {
      Builder& b = trace.builder();
      auto const stream = trace.stream(Purpose::noise);
      Extents<dynamic, dynamic> const flat{{x.extents[0], without_front(x.extents).size()}};
      auto const row = b.add(b.iota<std::uint64_t>(0, flat), b.fill(stream.first_row, flat));
      auto const high = b.binary<"shift_right_logical">(row, b.constant_like<std::uint64_t>(32, row));
      auto const words = philox(b,
                                std::array{b.convert<std::uint32_t>(row), b.convert<std::uint32_t>(high),
                                           b.iota<std::uint32_t>(1, flat), b.constant<std::uint32_t>(0, flat)},
                                stream.key0, stream.key1);
      auto const noise =
          (Traced<double, Extents<dynamic, dynamic>>(layer.stddev) * normal_numbers(b, words)).in(b, flat);
      y = b.add(x, b.reshape(b.convert<T>(noise), x.extents));
    }
    return Lowered{y, [](Trace<T>&, Value<T, E> const& dy) { return dy; }};
  }
};

}  // namespace trireme::lowering
