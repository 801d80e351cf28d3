/// Passes of a model over a slice of rows, with weights fetched and gradients released by slices of layers.
#pragma once

#include <cstddef>
#include <span>
#include <type_traits>
#include <utility>

#include "trireme/layers/copy.hpp"
#include "trireme/models/head.hpp"
#include "trireme/models/slices.hpp"
#include "trireme/strategies/engine/slice_pass.hpp"
#include "trireme/tensor/arena.hpp"

namespace trireme {

namespace detail {
/// True if a model consists of consecutive layers.
template <class Model>
constexpr bool has_layers() {
  if constexpr (requires(Model const& model) { model.architecture(); })
    return is_sequential<std::decay_t<decltype(std::declval<Model const&>().architecture())>>;
  else
    return false;
}

/// `weights` as in SlicePass; `memory` has workspace_bytes(rows). The slices requested do not depend on rows.
template <class Model, class Context, bool = has_layers<Model>()>
class ModelPass {
  using T = typename Model::scalar;
  using L = typename Model::label;
  using Layers = std::decay_t<decltype(std::declval<Model const&>().architecture())>;
  using SlicesOf = Slices<T, Layers>;

 public:
  explicit ModelPass(Model const& model)
      : pass_(SlicesOf(model.architecture())), mixes_rows_(model.description().row_scope != StatisticsScope::none) {}

  std::span<SliceRange const> ranges() const { return pass_.slices().ranges(); }
  std::size_t workspace_bytes(Model const& model, std::size_t rows) const {
    return 2 * aligned_bytes(rows * model.output_size() * sizeof(T)) +
           (Model::several_inputs ? aligned_bytes(rows * model.input_size() * sizeof(T)) : 0) +
           pass_.workspace_bytes(rows);
  }

  /// Forward, loss, metrics and backward. Layers that sum over rows of other processes run even without own rows.
  template <class Weights>
  void train(Model const& model, Context& context, Slice<T, L> const& slice, PerOutput<Model::outputs> const& scales,
             std::byte* memory, Weights& weights, double* totals, StepKeys const& keys) const {
    if (slice.rows == 0 && !mixes_rows_) {
      clear_updates(context, weights);
      return pass_.pass_without_rows(context, weights);
    }
    Places const places(model, slice.rows, memory);
    T const* const x = model.split_inputs(context, slice.rows, slice.x.block(), places.x);
    T* const z = pass_.forward(context, slice.rows, x, places.rest, weights, keys, true);
    if (slice.rows == 0) clear_updates(context, weights);
    score(model, context, slice, scales, places, z, places.dz, totals);
    pass_.backward(context, slice.rows, x, places.rest, places.dz, nullptr, weights, keys);
  }

  /// Forward, loss and metrics.
  template <class Weights>
  void test(Model const& model, Context& context, Slice<T, L> const& slice, std::byte* memory, Weights& weights,
            double* totals) const {
    if (slice.rows == 0) return ask_for(weights);
    Places const places(model, slice.rows, memory);
    T const* const x = model.split_inputs(context, slice.rows, slice.x.block(), places.x);
    T* const z = pass_.forward(context, slice.rows, x, places.rest, weights, {}, false);
    score(model, context, slice, {}, places, z, nullptr, totals);
  }

  /// y (rows, output) for x (rows, input).
  template <class Weights>
  void predict(Model const& model, Context& context, std::size_t rows, T const* x, T* y, std::byte* memory,
               Weights& weights) const {
    if (rows == 0) return ask_for(weights);
    Places const places(model, rows, memory);
    T* const z =
        pass_.forward(context, rows, model.split_inputs(context, rows, x, places.x), places.rest, weights, {}, false);
    if constexpr (Model::several_outputs) {
      model.activate(context, rows, z, z);
      model.join_outputs(context, rows, z, y);
    } else if constexpr (Model::on_logits)
      model.activate(context, rows, z, y);
    else
      kernels::copy(context, rows * model.output_size(), static_cast<T const*>(z), y);
  }

 private:
  struct Places {
    Places(Model const& model, std::size_t rows, std::byte* memory) {
      Workspace workspace(memory);
      dz = workspace.take<T>(rows * model.output_size());
      y = workspace.take<T>(rows * model.output_size());
      x = Model::several_inputs ? workspace.take<T>(rows * model.input_size()) : nullptr;
      rest = workspace.take<std::byte>(0);
    }
    T* dz;
    T* y;  ///< the model's output, if the loss takes something else
    T* x;  ///< of several inputs, each apart
    std::byte* rest;
  };

  void score(Model const& model, Context& context, Slice<T, L> const& slice, PerOutput<Model::outputs> const& scales,
             Places const& places, T* z, T* dz, double* totals) const {
    T* const y = Model::on_logits ? places.y : z;
    model.activate(context, slice.rows, z, y);
    model.head().score(context, slice, z, y, scales, dz, totals);
  }

  template <class Weights>
  void ask_for(Weights& weights) const {
    for (std::size_t i = 0; i < SlicesOf::count; ++i) weights.forward(i);
  }

  template <class Weights>
  void clear_updates(Context& context, Weights& weights) const {
    context.for_each("trireme::no_rows", ranges().back().states_end, kernels::Clear<T>{weights.updates()});
  }

  SlicePass<T, Context, SlicesOf> pass_;
  bool mixes_rows_;
};

/// A model that does not consist of layers is one slice. Where it has states or frozen weights, it takes all weights as
/// one arena and leaves gradients and updates in another, which exist beside those of the rank.
template <class Model, class Context>
class ModelPass<Model, Context, false> {
  using T = typename Model::scalar;
  using L = typename Model::label;

 public:
  explicit ModelPass(Model const& model)
      : states_(model.description().state_elements),
        behind_(model.description().arena_elements() - model.description().elements),
        mixes_rows_(model.description().row_scope != StatisticsScope::none) {
    whole_.end = model.description().elements;
  }

  std::span<SliceRange const> ranges() const { return {&whole_, 1}; }
  std::size_t workspace_bytes(Model const& model, std::size_t rows) const {
    std::size_t const arenas = behind_ == 0 ? 0
                                            : aligned_bytes((whole_.end + behind_) * sizeof(T)) +
                                                  aligned_bytes((whole_.end + states_) * sizeof(T));
    return arenas + model.template workspace_bytes<Context>(rows);
  }

  template <class Weights>
  void train(Model const& model, Context& context, Slice<T, L> const& slice, PerOutput<Model::outputs> const& scales,
             std::byte* memory, Weights& weights, double* totals, StepKeys const& keys) const {
    Workspace workspace(memory);
    T const* const parameters = one_arena(context, weights, workspace);
    // The sum of the updates begins with `weights.gradients`, and so behind the pass that computes them.
    T* const gradients = behind_ == 0 ? weights.gradients(0) : workspace.template take<T>(whole_.elements() + states_);
    auto const clear = [&] {
      context.for_each("trireme::clear_gradients", whole_.elements() + states_, kernels::Clear<T>{gradients});
    };
    if (behind_ > 0) clear();  // what lies between tensors is summed, too
    if (slice.rows > 0 || mixes_rows_)
      model.train(context, slice, scales, parameters, gradients, workspace.template take<std::byte>(0), totals, keys,
                  nullptr);
    if (slice.rows == 0) clear();
    if (behind_ > 0) {
      kernels::copy(context, states_, static_cast<T const*>(gradients + whole_.end), weights.updates());
      kernels::copy(context, whole_.elements(), static_cast<T const*>(gradients), weights.gradients(0));
    }
    weights.finished(0);
  }

  template <class Weights>
  void test(Model const& model, Context& context, Slice<T, L> const& slice, std::byte* memory, Weights& weights,
            double* totals) const {
    Workspace workspace(memory);
    T const* const parameters = one_arena(context, weights, workspace);
    if (slice.rows > 0) model.test(context, slice, parameters, workspace.template take<std::byte>(0), totals);
  }

  template <class Weights>
  void predict(Model const& model, Context& context, std::size_t rows, T const* x, T* y, std::byte* memory,
               Weights& weights) const {
    Workspace workspace(memory);
    T const* const parameters = one_arena(context, weights, workspace);
    if (rows > 0) model.predict(context, rows, x, y, parameters, workspace.template take<std::byte>(0));
  }

 private:
  /// Parameters, and behind them states and frozen weights: where they lie, unless that is apart.
  template <class Weights>
  T const* one_arena(Context& context, Weights& weights, Workspace& workspace) const {
    T const* const parameters = weights.forward(0);
    if (behind_ == 0) return parameters;
    T* const arena = workspace.template take<T>(whole_.end + behind_);
    if (parameters + whole_.end == weights.states()) return parameters;
    kernels::copy(context, whole_.elements(), parameters, arena);
    kernels::copy(context, behind_, static_cast<T const*>(weights.states()), arena + whole_.end);
    return arena;
  }

  SliceRange whole_;
  std::size_t states_, behind_;  ///< elements of states; of states and frozen weights, which lie behind them
  bool mixes_rows_;
};

}  // namespace detail
}  // namespace trireme
