/// MultiHeadAttention of a sequence to itself or to another.
#pragma once

#include <array>
#include <cmath>
#include <cstddef>
#include <string_view>

#include "trireme/core/error.hpp"
#include "trireme/initializers/constant.hpp"
#include "trireme/layers/activation_kernels.hpp"
#include "trireme/layers/attention_kernels.hpp"
#include "trireme/layers/attention_products.hpp"
#include "trireme/layers/layer.hpp"
#include "trireme/layers/options.hpp"
#include "trireme/tensor/extents.hpp"
#include "trireme/tensor/parts.hpp"

namespace trireme {

/// `MultiHeadAttention<8, 64>{}`: Heads, and the width of a head's queries and keys; also Causal (a position sees only
/// itself and what is before it), NoBias, ValueDim<n> (KeyDim) and OutputDim<n> (the input's width).
///
/// Input (time, features), output (time, OutputDim): the sequence attends to itself. Of a tuple, as in Keras, the first
/// part gives the queries, (queries, features), the second the values, (keys, features), and a third, if there is one,
/// the keys, (keys, features); without it the values' sequence gives them too. Kernels of query, key and value
/// (features, Heads, width), of the output (Heads, ValueDim, OutputDim), each with a bias. Source: Vaswani et al.,
/// Attention Is All You Need, 2017.
/// Designated initializers name the members in this order.
template <std::size_t Heads, std::size_t KeyDim, class... Options>
struct MultiHeadAttention {
  static_assert(Heads > 0 && KeyDim > 0,
                "trireme: MultiHeadAttention has at least one head of at least one number, not 0");
  using Chosen =
      detail::ChosenOptions<detail::Takes<Causal, NoBias, detail::AnyNumber<ValueDim>, detail::AnyNumber<OutputDim>>,
                            Options...>;
  static_assert(detail::NoMisfit<typename Chosen::Misfit>,
                "trireme: MultiHeadAttention takes as options Causal, NoBias, ValueDim<n> and OutputDim<n>, each once "
                "at most");
  static constexpr bool causal = Chosen::template has<Causal>;
  static constexpr bool use_bias = !Chosen::template has<NoBias>;
  static constexpr std::size_t value_dim = Chosen::template number<ValueDim, KeyDim>;
  static constexpr std::size_t output_dim = Chosen::template number<OutputDim, 0>;
  static constexpr std::size_t key_width = Heads * KeyDim, value_width = Heads * value_dim;
  static constexpr std::string_view class_name = "MultiHeadAttention";
  static constexpr bool takes_parts = true;

  Initializer kernel_initializer = GlorotUniform{};
  Initializer bias_initializer = Zeros{};
  Regularizer kernel_regularizer{};
  Regularizer bias_regularizer{};
  std::string_view name{};

  template <class In>
  constexpr auto output(In const& in) const {
    if constexpr (is_parts<In>) {
      static_assert(In::count == 2 || In::count == 3,
                    "trireme: MultiHeadAttention takes (time, features), or a tuple of query, value and perhaps key");
      Sides const s(in);
      if (s.keys != in.template part<In::count - 1>()[0])
        throw ShapeError("MultiHeadAttention needs as many keys as values");
      return output_like(in.template part<0>());
    } else {
      return output_like(in);
    }
  }

  template <class In>
  constexpr auto parameters(In const& in) const {
    Sides const s(in);
    ParameterShape const query{"query/kernel", {s.query_features, Heads, KeyDim}};
    ParameterShape const key{"key/kernel", {s.key_features, Heads, KeyDim}};
    ParameterShape const value{"value/kernel", {s.value_features, Heads, value_dim}};
    ParameterShape const out{"attention_output/kernel", {Heads, value_dim, s.output_features()}};
    if constexpr (use_bias)
      return std::array{query, ParameterShape{"query/bias", {Heads, KeyDim}},
                        key,   ParameterShape{"key/bias", {Heads, KeyDim}},
                        value, ParameterShape{"value/bias", {Heads, value_dim}},
                        out,   ParameterShape{"attention_output/bias", {s.output_features()}}};
    else
      return std::array{query, key, value, out};
  }
  Initializer initializer(std::size_t i) const { return is_bias(i) ? bias_initializer : kernel_initializer; }
  Regularizer regularizer(std::size_t i) const { return is_bias(i) ? bias_regularizer : kernel_regularizer; }

  template <class T, class Context, class In>
  constexpr std::size_t workspace(In const& in, std::size_t rows) const {
    Sides const s(in);
    return 2 * (aligned_bytes(rows * s.queries * key_width * sizeof(T)) +
                aligned_bytes(rows * s.keys * key_width * sizeof(T)) +
                aligned_bytes(rows * s.keys * value_width * sizeof(T)) +
                aligned_bytes(rows * s.queries * value_width * sizeof(T)) +
                aligned_bytes(rows * Heads * s.queries * s.keys * sizeof(T)));
  }

  template <class Context, class In, class T>
  void forward(Context& context, In const& in, Forward<T> const& f) const {
    Sides const s(in);
    std::size_t const queries = f.rows * s.queries, keys = f.rows * s.keys;
    Kept<T> const kept(s, f.rows, f.workspace);
    T const* const p = f.parameters;
    project(context, queries, s.query_features, key_width, f.x, p, kept.query);
    project(context, keys, s.key_features, key_width, f.x + f.rows * s.key_begin, p + s.template key<T>(), kept.key);
    project(context, keys, s.value_features, value_width, f.x + f.rows * s.value_begin, p + s.template value<T>(),
            kept.value);
    detail::head_products(context, f.rows, Heads, {.m = s.queries, .n = s.keys, .k = KeyDim, .transpose_b = true},
                          sequences(kept.query, KeyDim, s.queries), sequences(kept.key, KeyDim, s.keys),
                          scores(kept.shares, s));
    context.for_rows("trireme::attention_softmax", queries * Heads,
                     kernels::AttentionSoftmax<T>{kept.shares, s.queries, s.keys, scale<T>(), causal});
    detail::head_products(context, f.rows, Heads, {.m = s.queries, .n = value_dim, .k = s.keys}, scores(kept.shares, s),
                          sequences(kept.value, value_dim, s.keys), sequences(kept.result, value_dim, s.queries));
    project(context, queries, value_width, s.output_features(), kept.result, p + s.template out<T>(), f.y);
  }

  template <class Context, class In, class T>
  void backward(Context& context, In const& in, Backward<T> const& b) const {
    Sides const s(in);
    std::size_t const queries = b.rows * s.queries, keys = b.rows * s.keys;
    Kept<T> const kept(s, b.rows, b.workspace);
    T const* const p = b.parameters;
    Kept<T> const d = kept.gradients();
    project_gradient(context, queries, value_width, s.output_features(), kept.result, p + s.template out<T>(), b.dy,
                     gradient(b, s.template out<T>()), d.result, false);
    detail::head_products(context, b.rows, Heads, {.m = s.queries, .n = s.keys, .k = value_dim, .transpose_b = true},
                          sequences(d.result, value_dim, s.queries), sequences(kept.value, value_dim, s.keys),
                          scores(d.shares, s));
    detail::head_products(context, b.rows, Heads, {.m = s.keys, .n = value_dim, .k = s.queries, .transpose_a = true},
                          scores(kept.shares, s), sequences(d.result, value_dim, s.queries),
                          sequences(d.value, value_dim, s.keys));
    context.for_rows("trireme::attention_softmax_gradient", queries * Heads,
                     kernels::AttentionSoftmaxGradient<T>{kept.shares, d.shares, s.keys, scale<T>()});
    detail::head_products(context, b.rows, Heads, {.m = s.queries, .n = KeyDim, .k = s.keys}, scores(d.shares, s),
                          sequences(kept.key, KeyDim, s.keys), sequences(d.query, KeyDim, s.queries));
    detail::head_products(context, b.rows, Heads, {.m = s.keys, .n = KeyDim, .k = s.queries, .transpose_a = true},
                          scores(d.shares, s), sequences(kept.query, KeyDim, s.queries),
                          sequences(d.key, KeyDim, s.keys));
    // The second of two projections of the same input adds its gradient.
    project_gradient(context, queries, s.query_features, key_width, b.x, p, d.query, gradient(b, 0), b.dx, false);
    project_gradient(context, keys, s.key_features, key_width, b.x + b.rows * s.key_begin, p + s.template key<T>(),
                     d.key, gradient(b, s.template key<T>()), b.dx ? b.dx + b.rows * s.key_begin : nullptr,
                     s.key_begin == 0);
    project_gradient(context, keys, s.value_features, value_width, b.x + b.rows * s.value_begin,
                     p + s.template value<T>(), d.value, gradient(b, s.template value<T>()),
                     b.dx ? b.dx + b.rows * s.value_begin : nullptr, s.value_begin == s.key_begin);
  }

 private:
  /// Query, key and value: positions and features of each, the beginning of a sample's keys and values in the input,
  /// and that of their parameters.
  struct Sides {
    std::size_t queries, keys;
    std::size_t query_features, key_features, value_features;
    std::size_t key_begin = 0, value_begin = 0;

    template <std::size_t... E>
    constexpr explicit Sides(Extents<E...> const& in)
        : queries(in[0]), keys(in[0]), query_features(in[1]), key_features(in[1]), value_features(in[1]) {}

    template <class... P>
    constexpr explicit Sides(Parts<P...> const& in)
        : queries(in.template part<0>()[0]),
          keys(in.template part<1>()[0]),
          query_features(in.template part<0>()[1]),
          key_features(in.template part<sizeof...(P) - 1>()[1]),
          value_features(in.template part<1>()[1]),
          key_begin(in.template before<sizeof...(P) - 1>()),
          value_begin(in.template before<1>()) {}

    constexpr std::size_t output_features() const { return output_dim == 0 ? query_features : output_dim; }
    template <class T>
    constexpr std::size_t key() const {
      return elements<T>(query_features * key_width, key_width);
    }
    template <class T>
    constexpr std::size_t value() const {
      return key<T>() + elements<T>(key_features * key_width, key_width);
    }
    template <class T>
    constexpr std::size_t out() const {
      return value<T>() + elements<T>(value_features * value_width, value_width);
    }

   private:
    template <class T>
    static constexpr std::size_t elements(std::size_t kernel, std::size_t bias) {
      return aligned_count<T>(kernel) + (use_bias ? aligned_count<T>(bias) : 0);
    }
  };

  /// Workspace of forward: (rows, positions, heads, width) each, and the attention weights `shares` (rows, heads,
  /// queries, keys). Behind it lies the same again for the gradients.
  template <class T>
  struct Kept {
    Kept(Sides const& s, std::size_t rows, std::byte* memory)
        : queries(rows * s.queries), keys(rows * s.keys), scores(rows * Heads * s.queries * s.keys) {
      take(memory);
    }
    Kept gradients() const {
      Kept next = *this;
      next.take(end);
      return next;
    }

    std::size_t queries, keys, scores;
    T *query, *key, *value, *result, *shares;
    std::byte* end;

   private:
    void take(std::byte* memory) {
      Workspace workspace(memory);
      query = workspace.take<T>(queries * key_width);
      key = workspace.take<T>(keys * key_width);
      value = workspace.take<T>(keys * value_width);
      result = workspace.take<T>(queries * value_width);
      shares = workspace.take<T>(scores);
      end = workspace.take<std::byte>(0);
    }
  };

  template <class T>
  static auto sequences(T* data, std::size_t width, std::size_t length) {
    return detail::head_sequences(data, Heads, length, width);
  }
  template <class T>
  static auto scores(T* data, Sides const& s) {
    return detail::head_scores(data, Heads, s.queries, s.keys);
  }

  /// y (positions, to) = x (positions, from) * kernel + bias, which lies behind the kernel.
  template <class Context, class T>
  static void project(Context& context, std::size_t positions, std::size_t from, std::size_t to, T const* x,
                      T const* parameters, T* y) {
    context.gemm(Product<T>{
        .m = positions, .n = to, .k = from, .a = x, .lda = from, .b = parameters, .ldb = to, .c = y, .ldc = to});
    if constexpr (use_bias)
      context.for_each("trireme::add_bias", positions, to,
                       kernels::AddBias<T>{parameters + aligned_count<T>(from * to), y, to});
  }

  /// The gradients of kernel and bias; dx is written or added to. Either may be null.
  template <class Context, class T>
  static void project_gradient(Context& context, std::size_t positions, std::size_t from, std::size_t to, T const* x,
                               T const* parameters, T const* dy, T* gradients, T* dx, bool accumulate) {
    if (gradients)
      context.gemm(Product<T>{.m = from,
                              .n = to,
                              .k = positions,
                              .a = x,
                              .lda = from,
                              .b = dy,
                              .ldb = to,
                              .c = gradients,
                              .ldc = to,
                              .transpose_a = true});
    if (use_bias && gradients)
      context.column_sums("trireme::attention_bias_gradient", positions, to, dy,
                          gradients + aligned_count<T>(from * to));
    if (dx)
      context.gemm(Product<T>{.m = positions,
                              .n = from,
                              .k = to,
                              .a = dy,
                              .lda = to,
                              .b = parameters,
                              .ldb = to,
                              .c = dx,
                              .ldc = from,
                              .transpose_b = true,
                              .accumulate = accumulate});
  }

  /// Destination of the gradients of a projection; null where the layer is frozen.
  template <class T>
  static T* gradient(Backward<T> const& b, std::size_t offset) {
    return b.frozen ? nullptr : b.gradients + offset;
  }
  template <class T>
  static T scale() {
    return static_cast<T>(1 / std::sqrt(static_cast<double>(KeyDim)));
  }
  static constexpr bool is_bias(std::size_t parameter) { return use_bias && parameter % 2 == 1; }
  template <class Query>
  static constexpr auto output_like(Query const& query) {
    static_assert(Query::rank == 2, "trireme: MultiHeadAttention takes (time, features)");
    constexpr std::size_t width = output_dim == 0 ? static_extent<Query, 1> : output_dim;
    return replace_back<width>(query, output_dim == 0 ? query[1] : output_dim);
  }
};
template <class... Values>
MultiHeadAttention(Values const&...) -> MultiHeadAttention<detail::size_from_values<Values...>(), 1>;

}  // namespace trireme
