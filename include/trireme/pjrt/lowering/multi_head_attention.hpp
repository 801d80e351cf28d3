/// MultiHeadAttention in a program.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <tuple>

#include "trireme/layers/multi_head_attention.hpp"
#include "trireme/pjrt/lowering/layer.hpp"

namespace trireme::lowering {

template <std::size_t Heads, std::size_t KeyDim, class... Options>
struct LayerLowering<MultiHeadAttention<Heads, KeyDim, Options...>> {
  using Layer = MultiHeadAttention<Heads, KeyDim, Options...>;
  using One = Extents<dynamic>;
  using Two = Extents<dynamic, dynamic>;
  using Three = Extents<dynamic, dynamic, dynamic>;
  using Four = Extents<dynamic, dynamic, dynamic, dynamic>;

  /// A sequence that attends to itself.
  template <class T, class E>
  static auto forward(Trace<T>& trace, Layer const& layer, Value<T, E> const& x) {
    auto const attention = attend(trace, x, x, x);
    auto const y = typed(attention.y, with_rows(x.extents[0], layer.output(without_front(x.extents))));
    return Lowered{y, [=](Trace<T>& t, decltype(y) const& dy) {
                     auto const [query, value, key] = attention.backward(t, typed(dy, attention.y.extents));
                     Builder& b = t.builder();
                     return typed(b.add(b.add(query, key), value), x.extents);
                   }};
  }

  /// A tuple of query, value, and perhaps key.
  template <class T, class Q, class V, class... K>
  static auto forward(Trace<T>& trace, Layer const&, std::tuple<Value<T, Q>, Value<T, V>, Value<T, K>...> const& x) {
    auto const attention = attend(trace, std::get<0>(x), std::get<1>(x), std::get<1 + sizeof...(K)>(x));
    return Lowered{attention.y, [=](Trace<T>& t, Value<T, Three> const& dy) {
                     auto const [query, value, key] = attention.backward(t, dy);
                     auto const dq = typed(query, std::get<0>(x).extents);
                     if constexpr (sizeof...(K) == 1)
                       return std::tuple{dq, typed(value, std::get<1>(x).extents), typed(key, std::get<2>(x).extents)};
                     else
                       return std::tuple{dq, typed(t.builder().add(key, value), std::get<1>(x).extents)};
                   }};
  }

 private:
  /// A sequence as heads, (rows, positions, heads, width), and what its gradient needs.
  template <class T>
  struct Projection {
    Value<T, Three> x;
    Parameter<T, Three> kernel;
    Parameter<T, Two> bias;
    Value<T, Four> heads;
  };

  /// `backward(trace, dy)`: the gradients of query, value and key.
  template <class T, class Q, class V, class K>
  static auto attend(Trace<T>& trace, Value<T, Q> const& query, Value<T, V> const& value, Value<T, K> const& key) {
    Builder& b = trace.builder();
    auto const q = project(trace, query, KeyDim), k = project(trace, key, KeyDim);
    auto const v = project(trace, value, Layer::value_dim);
    std::size_t const rows = query.extents[0], queries = query.extents[1], keys = key.extents[1];
    std::size_t const features = Layer::output_dim == 0 ? query.extents[2] : Layer::output_dim;
    Four const scores{{rows, Heads, queries, keys}}, by_head{{rows, Heads, queries, Layer::value_dim}};

    auto const products = b.products(q.heads, k.heads, scores, {{{0, 2}, {0, 2}}}, {{{3}, {3}}});
    auto const p = softmax(b, products);
    auto const kernel = trace.parameter(Three{{Heads, Layer::value_dim, features}}, {0, 1});
    auto const attended =
        trace.aligned(b.products(p, v.heads, by_head, {{{0, 1}, {0, 2}}}, {{{3}, {1}}}), kernel, {{0, 1}, {1, 3}});
    auto y = b.products(attended, kernel.value, Three{{rows, queries, features}}, {}, {{{1, 3}, {0, 1}}});
    y = trace.aligned(y, kernel, {{2, 2}});
    Parameter<T, One> bias{};
    if constexpr (Layer::use_bias) {
      bias = trace.parameter(One{{features}});
      y = b.add(y, b.along_back(bias.value, y.extents));
    }
    return Lowered{
        y, [=](Trace<T>& t, Value<T, Three> const& dy) {
          Builder& back = t.builder();
          t.set_gradient(kernel, back.products(attended, dy, kernel.value.extents, {}, {{{0, 2}, {0, 1}}}));
          if constexpr (Layer::use_bias) t.set_gradient(bias, back.sum_to_back(dy));
          auto const d_attended = t.aligned(
              back.products(dy, kernel.value, Four{{rows, queries, Heads, Layer::value_dim}}, {}, {{{2}, {2}}}), kernel,
              {{0, 2}, {1, 3}});
          auto const dp = back.products(d_attended, v.heads, scores, {{{0, 2}, {0, 2}}}, {{{3}, {3}}});
          auto const dv = back.products(p, d_attended, Four{{rows, Heads, keys, Layer::value_dim}}, {{{0, 1}, {0, 2}}},
                                        {{{2}, {1}}});
          auto const mean = back.repeat_back(back.sum_back(back.multiply(p, dp)), scores);
          auto const ds = back.scale(back.multiply(p, back.subtract(dp, mean)), scale<T>());
          auto const dq =
              back.products(ds, k.heads, Four{{rows, Heads, queries, KeyDim}}, {{{0, 1}, {0, 2}}}, {{{3}, {1}}});
          auto const dk =
              back.products(ds, q.heads, Four{{rows, Heads, keys, KeyDim}}, {{{0, 1}, {0, 2}}}, {{{2}, {1}}});
          return std::tuple{project_back(t, q, dq), project_back(t, v, dv), project_back(t, k, dk)};
        }};
  }

  template <class T, class E>
  static Projection<T> project(Trace<T>& trace, Value<T, E> const& sequence, std::size_t width) {
    Builder& b = trace.builder();
    Three const extents{{sequence.extents[0], sequence.extents[1], sequence.extents[2]}};
    auto const kernel = trace.parameter(Three{{extents[2], Heads, width}}, {1, 2});
    auto const x = trace.aligned(typed(sequence, extents), kernel, {{0, 2}});
    auto z = b.products(x, kernel.value, Four{{extents[0], extents[1], Heads, width}}, {}, {{{2}, {0}}});
    z = trace.aligned(z, kernel, {{1, 2}, {2, 3}});
    Parameter<T, Two> bias{};
    if constexpr (Layer::use_bias) {
      bias = trace.parameter(Two{{Heads, width}}, {0, 1});
      z = b.add(z, b.repeat(bias.value, z.extents, {2, 3}));
    }
    return {x, kernel, bias, z};
  }
  /// From the gradient of the heads, (rows, heads, positions, width), to that of the sequence.
  template <class T>
  static Value<T, Three> project_back(Trace<T>& trace, Projection<T> const& projection, Value<T, Four> const& heads) {
    Builder& b = trace.builder();
    auto const& [x, kernel, bias, outputs] = projection;
    auto const dz = b.transpose(heads, outputs.extents, {0, 2, 1, 3});
    trace.set_gradient(kernel, b.products(x, dz, kernel.value.extents, {}, {{{0, 1}, {0, 1}}}));
    if constexpr (Layer::use_bias) trace.set_gradient(bias, b.sum_over(dz, bias.value.extents, {0, 1}));
    return trace.aligned(b.products(dz, kernel.value, x.extents, {}, {{{2, 3}, {1, 2}}}), kernel, {{0, 2}});
  }

  /// Over the keys; a causal layer leaves out those that are later than the query.
  template <class T>
  static Value<T, Four> softmax(Builder& b, Value<T, Four> const& products) {
    auto scores = products;
    if constexpr (Layer::causal) {
      auto const is_later =
          b.compare<"GT">(b.iota<std::int32_t>(3, scores.extents), b.iota<std::int32_t>(2, scores.extents));
      scores = b.select(is_later, b.constant_like<T>(-std::numeric_limits<T>::infinity(), scores), scores);
    }
    auto const centred = b.subtract(scores, b.repeat_back(b.max_back(scores), scores.extents));
    auto const e = b.unary<"exponential">(b.scale(centred, scale<T>()));
    return b.divide(e, b.repeat_back(b.sum_back(e), e.extents));
  }
  template <class T>
  static T scale() {
    return static_cast<T>(1 / std::sqrt(static_cast<double>(KeyDim)));
  }
};

}  // namespace trireme::lowering
