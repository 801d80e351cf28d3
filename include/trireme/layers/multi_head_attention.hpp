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
#include "trireme/layers/layer_name.hpp"
#include "trireme/layers/options.hpp"
#include "trireme/tensor/extents.hpp"
#include "trireme/tensor/parts.hpp"

namespace trireme {

/// Scaled dot-product attention in several heads: `MultiHeadAttention<8, 64>{}` with Heads and the width of a head's
/// queries and keys; also Causal (a position sees only itself and what is before it), NoBias, ValueDim<n> (KeyDim) and
/// OutputDim<n> (the width of the queries' input).
///
/// A head computes softmax(Q K^T / sqrt(KeyDim)) V over the keys; the heads side by side are projected to the output.
///
/// Input (time, features), output (time, OutputDim): the sequence attends to itself. Of a tuple, as in Keras, the first
/// part gives the queries, (queries, features), the second the values, (keys, features), and a third, if there is one,
/// the keys, (keys, features); without it the values' sequence gives them too. The output is then (queries, OutputDim).
/// Parameters: kernels of query and key (features, Heads, KeyDim) with biases (Heads, KeyDim), of value (features,
/// Heads, ValueDim) with bias (Heads, ValueDim), of the output (Heads, ValueDim, OutputDim) with bias (OutputDim).
/// Designated initializers name the members in this order. Source: Vaswani et al., Attention Is All You Need, 2017;
/// Keras `MultiHeadAttention`.
///
/// Compile-time errors: Heads or KeyDim is 0; another option, or one given twice; an input or a part of one other than
/// (time, features); a tuple of other than two or three parts.
/// \throws ShapeError from `compile` if the numbers of keys and values differ.
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
  /// Each bias is the parameter behind its kernel.
  static constexpr std::size_t query_kernel = 0, key_kernel = use_bias ? 2 : 1, value_kernel = 2 * key_kernel,
                               output_kernel = 3 * key_kernel;
  /// (rows, positions, heads, width) each, the attention weights (rows, heads, queries, keys); and the gradients of
  /// all.
  enum Saved : std::size_t {
    query,
    key,
    value,
    result,
    weights,
    query_gradient,
    key_gradient,
    value_gradient,
    result_gradient,
    weights_gradient
  };

  Initializer kernel_initializer = GlorotUniform{};
  Initializer bias_initializer = Zeros{};
  Regularizer kernel_regularizer{};
  Regularizer bias_regularizer{};
  LayerName name{};

  template <class In>
  constexpr auto output(In const& in) const {
    if constexpr (is_parts<In>) {
      constexpr bool are_sequences = []<class... P>(Parts<P...> const*) {
        return (In::count == 2 || In::count == 3) && ((P::rank == 2) && ...);
      }(static_cast<In const*>(nullptr));
      static_assert(are_sequences,
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
    // Fans as of Keras's EinsumDense: a projection sums over the features, or over heads and their widths.
    ParameterShape const queries{"query/kernel", {s.query_features, Heads, KeyDim}, "query_dense", 1};
    ParameterShape const keys{"key/kernel", {s.key_features, Heads, KeyDim}, "key_dense", 1};
    ParameterShape const values{"value/kernel", {s.value_features, Heads, value_dim}, "value_dense", 1};
    ParameterShape const out{"attention_output/kernel", {Heads, value_dim, s.output_features()}, "output_dense", 2};
    if constexpr (use_bias)
      return std::array{queries, ParameterShape{"query/bias", {Heads, KeyDim}, "query_dense"},
                        keys,    ParameterShape{"key/bias", {Heads, KeyDim}, "key_dense"},
                        values,  ParameterShape{"value/bias", {Heads, value_dim}, "value_dense"},
                        out,     ParameterShape{"attention_output/bias", {s.output_features()}, "output_dense"}};
    else
      return std::array{queries, keys, values, out};
  }
  Initializer initializer(std::size_t i) const { return is_bias(i) ? bias_initializer : kernel_initializer; }
  Regularizer regularizer(std::size_t i) const { return is_bias(i) ? bias_regularizer : kernel_regularizer; }

  /// Operations of forward, for one sample: the four projections; and for each score the products of query and key and
  /// of weight and value, and 6 of the softmax. A causal layer computes the products of all scores, too.
  template <class In>
  constexpr std::size_t flops(In const& in) const {
    Sides const s(in);
    return s.queries * key_width * (2 * s.query_features + 1) + s.keys * key_width * (2 * s.key_features + 1) +
           s.keys * value_width * (2 * s.value_features + 1) +
           Heads * s.queries * s.keys * (2 * KeyDim + 6 + 2 * value_dim) +
           s.queries * s.output_features() * (2 * value_width + 1);
  }

  template <class T, class Context, class In>
  constexpr auto saved(In const& in, std::size_t rows) const {
    Sides const s(in);
    SavedTensor const queries{rows * s.queries * key_width}, keys{rows * s.keys * key_width},
        values{rows * s.keys * value_width}, results{rows * s.queries * value_width},
        scores{rows * Heads * s.queries * s.keys};
    return std::array{queries, keys, values, results, scores, queries, keys, values, results, scores};
  }

  template <class Context, class In, class T>
  void forward(Context& context, In const& in, Forward<T> const& f) const {
    Sides const s(in);
    std::size_t const queries = f.rows * s.queries, keys = f.rows * s.keys;
    project(context, queries, f.x, f, query_kernel, {s.query_features, key_width}, f.saved[query]);
    project(context, keys, f.x + f.rows * s.key_begin, f, key_kernel, {s.key_features, key_width}, f.saved[key]);
    project(context, keys, f.x + f.rows * s.value_begin, f, value_kernel, {s.value_features, value_width},
            f.saved[value]);
    detail::head_products(context, f.rows, Heads, {.m = s.queries, .n = s.keys, .k = KeyDim, .transpose_b = true},
                          sequences(f.saved[query], KeyDim, s.queries), sequences(f.saved[key], KeyDim, s.keys),
                          scores(f.saved[weights], s));
    context.for_rows("trireme::attention_softmax", queries * Heads, s.keys,
                     kernels::AttentionSoftmax<T>{f.saved[weights], s.queries, s.keys, scale<T>(), causal});
    detail::head_products(context, f.rows, Heads, {.m = s.queries, .n = value_dim, .k = s.keys},
                          scores(f.saved[weights], s), sequences(f.saved[value], value_dim, s.keys),
                          sequences(f.saved[result], value_dim, s.queries));
    project(context, queries, f.saved[result], f, output_kernel, {value_width, s.output_features()}, f.y);
  }

  template <class Context, class In, class T>
  void backward(Context& context, In const& in, Backward<T> const& b) const {
    Sides const s(in);
    std::size_t const queries = b.rows * s.queries, keys = b.rows * s.keys;
    T *const d_query = b.saved[query_gradient], *const d_key = b.saved[key_gradient],
             *const d_value = b.saved[value_gradient], *const d_result = b.saved[result_gradient],
             *const d_weights = b.saved[weights_gradient];
    project_gradient(context, queries, b.saved[result], b, output_kernel, {value_width, s.output_features()}, b.dy,
                     Lifetime::call, d_result, false);
    detail::head_products(context, b.rows, Heads, {.m = s.queries, .n = s.keys, .k = value_dim, .transpose_b = true},
                          sequences(d_result, value_dim, s.queries), sequences(b.saved[value], value_dim, s.keys),
                          scores(d_weights, s));
    detail::head_products(context, b.rows, Heads, {.m = s.keys, .n = value_dim, .k = s.queries, .transpose_a = true},
                          scores(b.saved[weights], s), sequences(d_result, value_dim, s.queries),
                          sequences(d_value, value_dim, s.keys));
    context.for_rows("trireme::attention_softmax_gradient", queries * Heads, s.keys,
                     kernels::AttentionSoftmaxGradient<T>{b.saved[weights], d_weights, s.keys, scale<T>()});
    detail::head_products(context, b.rows, Heads, {.m = s.queries, .n = KeyDim, .k = s.keys}, scores(d_weights, s),
                          sequences(b.saved[key], KeyDim, s.keys), sequences(d_query, KeyDim, s.queries));
    detail::head_products(context, b.rows, Heads, {.m = s.keys, .n = KeyDim, .k = s.queries, .transpose_a = true},
                          scores(d_weights, s), sequences(b.saved[query], KeyDim, s.queries),
                          sequences(d_key, KeyDim, s.keys));
    // The second of two projections of the same input adds its gradient.
    project_gradient(context, queries, b.x, b, query_kernel, {s.query_features, key_width}, d_query, Lifetime::step,
                     b.dx, false);
    project_gradient(context, keys, b.x + b.rows * s.key_begin, b, key_kernel, {s.key_features, key_width}, d_key,
                     Lifetime::step, b.dx ? b.dx + b.rows * s.key_begin : nullptr, s.key_begin == 0);
    project_gradient(context, keys, b.x + b.rows * s.value_begin, b, value_kernel, {s.value_features, value_width},
                     d_value, Lifetime::step, b.dx ? b.dx + b.rows * s.value_begin : nullptr,
                     s.value_begin == s.key_begin);
  }

 private:
  /// Query, key and value: positions and features of each, and the beginning of a sample's keys and values in the
  /// input.
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
  };

  template <class T>
  static auto sequences(T* data, std::size_t width, std::size_t length) {
    return detail::head_sequences(data, Heads, length, width);
  }
  template <class T>
  static auto scores(T* data, Sides const& s) {
    return detail::head_scores(data, Heads, s.queries, s.keys);
  }

  /// Widths of the input and the output of a projection.
  struct Widths {
    std::size_t from, to;
  };

  /// y (positions, to) = x (positions, from) * kernel + bias, the parameter behind the kernel.
  template <class Context, class T>
  static void project(Context& context, std::size_t positions, T const* x, Forward<T> const& f, std::size_t kernel,
                      Widths const& width, T* y) {
    Product<T> const product{.m = positions,
                             .n = width.to,
                             .k = width.from,
                             .a = x,
                             .lda = width.from,
                             .b = f.parameters[kernel],
                             .ldb = width.to,
                             .c = y,
                             .ldc = width.to};
    if constexpr (use_bias)
      kernels::product_bias_activation(context, Linear{}, product, f.parameters[kernel + 1], y);
    else
      context.gemm(product);
  }

  /// The gradients of kernel and bias; dx is written or added to, unless it is null.
  template <class Context, class T>
  static void project_gradient(Context& context, std::size_t positions, T const* x, Backward<T> const& b,
                               std::size_t kernel, Widths const& width, T const* dy, Lifetime lifetime, T* dx,
                               bool accumulate) {
    if (dx)
      context.gemm(Product<T>{.m = positions,
                              .n = width.from,
                              .k = width.to,
                              .a = dy,
                              .lda = width.to,
                              .b = b.parameters[kernel],
                              .ldb = width.to,
                              .c = dx,
                              .ldc = width.from,
                              .transpose_b = true,
                              .accumulate = accumulate});
    if constexpr (use_bias)
      b.gradients[kernel].product_and_column_sums(context, "trireme::attention_bias_gradient", positions,
                                                  {x, width.from}, {dy, width.to}, b.gradients[kernel + 1], lifetime);
    else
      b.gradients[kernel].product(context, positions, {x, width.from}, {dy, width.to}, lifetime);
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
