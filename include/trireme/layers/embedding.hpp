/// Embedding: a row of a table for each index.
#pragma once

#include <array>
#include <cstddef>
#include <limits>
#include <string_view>
#include <type_traits>

#include "trireme/core/config.hpp"
#include "trireme/core/error.hpp"
#include "trireme/core/text.hpp"
#include "trireme/initializers/random_uniform.hpp"
#include "trireme/layers/copy.hpp"
#include "trireme/layers/embedding_kernels.hpp"
#include "trireme/layers/layer.hpp"
#include "trireme/layers/layer_name.hpp"
#include "trireme/layers/options.hpp"
#include "trireme/tensor/extents.hpp"

namespace trireme {

/// Table of Vocabulary rows of Dim numbers, y = embeddings[x]: `Embedding<10'000, 64>{}`.
///
/// Input (...), integers in [0, Vocabulary) in the model's scalar; output (..., Dim); parameter embeddings (Vocabulary,
/// Dim). A table of `sparse_from` numbers or more has sparse gradients under the parallelism within operators: only the
/// rows that occur in a batch get gradients and travel between processes. The optimizer moves all rows, as Keras's
/// does. Designated initializers name the members in this order. Source: Keras `Embedding`.
///
/// Compile-time errors: Vocabulary or Dim is 0, or Vocabulary exceeds the integers that the scalar holds exactly (2^24
/// in float, 2^53 in double).
/// \throws ValueError from `compile` if a `dynamic` vocabulary is 0 or exceeds these integers, or if `dim` is 0.
/// \throws ValueError from data sets, `train_on_batch` and Predictor if an input is not an integer in [0, Vocabulary),
/// naming the sample. CompiledModel::infer and, on a device, Predictor::infer do not check: such an index reads zeros
/// and trains nothing.
template <std::size_t Vocabulary, std::size_t Dim>
struct Embedding {
  static_assert(Vocabulary > 0 && Dim > 0, "trireme: Embedding has at least one row of at least one number, not 0");
  static constexpr bool looks_up = true;
  static constexpr std::string_view class_name = "Embedding";
  enum Parameters : std::size_t { embeddings };

  Extent<Vocabulary> vocabulary{};
  Extent<Dim> dim{};
  Initializer embeddings_initializer = RandomUniform{};
  Regularizer embeddings_regularizer{};
  std::size_t sparse_from = std::size_t{1} << 18;
  LayerName name{};

  void config(Config& c) const {
    c("vocabulary", std::size_t{vocabulary}, intervals::positive_count);
    c("dim", std::size_t{dim}, intervals::positive_count);
    c("sparse_from", sparse_from);
  }

  template <class In>
  constexpr auto output(In const& in) const {
    return append_extent<Dim>(in, dim);
  }

  template <class In>
  constexpr auto parameters(In const&) const {
    return std::array{ParameterShape{"embeddings", {vocabulary, dim}}};
  }
  Initializer initializer(std::size_t) const { return embeddings_initializer; }
  Regularizer regularizer(std::size_t) const { return embeddings_regularizer; }
  bool by_rows() const { return vocabulary * dim >= sparse_from; }

  /// Operations of forward, for one sample: a copy of a row for each index.
  template <class In>
  constexpr std::size_t flops(In const& in) const {
    return in.size() * dim;
  }

  /// No tensors. Checks the vocabulary when a model is compiled.
  template <class T, class Context, class In>
  constexpr auto saved(In const&, std::size_t) const {
    constexpr std::size_t exact = std::size_t{1} << std::numeric_limits<T>::digits;
    static_assert(Vocabulary == dynamic || Vocabulary <= exact,
                  "trireme: a vocabulary has at most as many indices as the model's scalar holds exactly, 2^24 in "
                  "float; compile<double> holds more");
    if (vocabulary > exact)
      throw ValueError(formatted("a vocabulary of {} is more than the {} indices that the model's scalar holds exactly",
                                 std::size_t{vocabulary}, exact));
    return std::array<SavedTensor, 0>{};
  }

  template <class Context, class In, class T>
  void forward(Context& context, In const& in, Forward<T> const& f) const {
    context.for_each("trireme::embedding", f.rows * in.size(), dim,
                     kernels::LookUp<T>{f.x, f.parameters[embeddings], f.y, vocabulary, dim});
  }

  template <class Context, class In, class T>
  void backward(Context& context, In const& in, Backward<T> const& b) const {
    if (b.dx) context.for_each("trireme::no_gradient", b.rows * in.size(), kernels::Clear<T>{b.dx});
    if (!b.gradients[embeddings]) return;
    T* const table = b.gradients[embeddings].table(context, b.x, b.rows * in.size());
    kernels::AddToTable<T> const add{b.x, b.dy, table, b.rows * in.size(), vocabulary, dim};
    if constexpr (is_host_context<Context>)
      context.for_rows("trireme::embedding_gradient", add.blocks(), add);
    else
      context.for_rows("trireme::embedding_gradient", add.positions, dim, kernels::AddToTableByIndex<T>{add});
  }
};
template <class... Values>
Embedding(Values const&...) -> Embedding<detail::size_from_values<Values...>(), 1>;

}  // namespace trireme
