/// Dropout in a program, with the same random bits as the kernels.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "trireme/core/philox.hpp"
#include "trireme/core/text.hpp"
#include "trireme/layers/dropout.hpp"
#include "trireme/pjrt/lowering/layer.hpp"

namespace trireme::lowering {

/// Philox4x32-10 over arrays of counters, as Philox4x32::block for one. The key is the same for all.
template <class E>
std::array<Value<std::uint32_t, E>, 4> philox(Builder& b, std::array<Value<std::uint32_t, E>, 4> c,
                                              Scalar<std::uint32_t> k0, Scalar<std::uint32_t> k1) {
  using Words = Value<std::uint32_t, E>;
  auto const multiply = [&](std::uint32_t factor, Words const& x) {
    auto const wide = b.convert<std::uint64_t>(x);
    auto const product = b.multiply(wide, b.constant_like<std::uint64_t>(factor, wide));
    auto const shift = b.constant_like<std::uint64_t>(32, wide);
    return std::pair{b.convert<std::uint32_t>(b.binary<"shift_right_logical">(product, shift)),
                     b.convert<std::uint32_t>(product)};
  };
  for (int round = 0; round < Philox4x32::rounds; ++round) {
    auto const [high0, low0] = multiply(0xD2511F53u, c[0]);
    auto const [high1, low1] = multiply(0xCD9E8D57u, c[2]);
    auto const key0 = b.fill(k0, c[0].extents), key1 = b.fill(k1, c[0].extents);
    c = {b.binary<"xor">(b.binary<"xor">(high1, c[1]), key0), low1, b.binary<"xor">(b.binary<"xor">(high0, c[3]), key1),
         low0};
    k0 = b.add(k0, b.constant<std::uint32_t>(0x9E3779B9u));
    k1 = b.add(k1, b.constant<std::uint32_t>(0xBB67AE85u));
  }
  return c;
}

/// Four tensors (rows, groups, 1) as one (rows, groups, 4).
template <class V>
auto join(Builder& b, std::array<V, 4> const& parts) {
  return b.emit_call<typename V::element>(Extents<dynamic, dynamic, 4>{{parts[0].extents[0], parts[0].extents[1], 4}},
                                          formatted("stablehlo.concatenate %v{}, %v{}, %v{}, %v{}, dim = 2",
                                                    parts[0].id, parts[1].id, parts[2].id, parts[3].id),
                                          formatted("({0}, {0}, {0}, {0})", type_text(parts[0])));
}

/// The random words of each element of (rows, columns), as RowStream names them.
template <class T, class Rows>
Value<std::uint32_t, Rows> row_words(Trace<T>& trace, Rows const& extents) {
  Builder& b = trace.builder();
  auto const stream = trace.stream();
  std::size_t const rows = extents[0], columns = extents[1], groups = (columns + 3) / 4;
  Extents<dynamic, dynamic> const blocks{{rows, groups}};
  auto const row = b.add(b.iota<std::uint64_t>(0, blocks), b.fill(stream.first_row, blocks));
  auto const high = b.binary<"shift_right_logical">(row, b.constant_like<std::uint64_t>(32, row));
  auto const none = b.constant<std::uint32_t>(0, blocks);
  auto const words = philox(
      b,
      std::array{b.convert<std::uint32_t>(row), b.convert<std::uint32_t>(high), b.iota<std::uint32_t>(1, blocks), none},
      stream.key0, stream.key1);
  Extents<dynamic, dynamic, 1> const single{{rows, groups, 1}};
  auto const four = join(b, std::array{b.reshape(words[0], single), b.reshape(words[1], single),
                                       b.reshape(words[2], single), b.reshape(words[3], single)});
  auto const all = b.reshape(four, Extents<dynamic, dynamic>{{rows, 4 * groups}});
  return b.slice(all, extents, {{0, rows, 1}, {0, columns, 1}});
}

template <>
struct LayerLowering<Dropout> {
  template <class T, class E>
  static auto forward(Trace<T>& trace, Dropout const& layer, Value<T, E> const& x) {
    auto const in = x.extents;
    Value<bool, E> dropped{in, 0};
    auto y = x;
    T const scale = T{1} / (T{1} - static_cast<T>(layer.rate));
    if (trace.training()) {
      Builder& b = trace.builder();
      Extents<dynamic, dynamic> const flat{{in[0], without_front(in).size()}};
      auto const words = row_words(trace, flat);
      auto const bits = b.binary<"shift_right_logical">(words, b.constant_like<std::uint32_t>(8, words));
      auto const uniform = b.scale(b.convert<float>(bits), 0x1p-24f);
      dropped =
          b.reshape(b.compare<"LT">(uniform, b.constant_like<float>(static_cast<float>(layer.rate), uniform)), in);
      y = apply(b, x, dropped, scale);
    }
    return Lowered{y, [=](Trace<T>& t, Value<T, E> const& dy) { return apply(t.builder(), dy, dropped, scale); }};
  }

 private:
  template <class T, class E>
  static Value<T, E> apply(Builder& b, Value<T, E> const& x, Value<bool, E> const& dropped, T scale) {
    return b.select(dropped, b.constant_like<T>(T{0}, x), b.scale(x, scale));
  }
};

}  // namespace trireme::lowering
