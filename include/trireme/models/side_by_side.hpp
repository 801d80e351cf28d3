/// Layers side by side, each with its own parameters, whose outputs are joined: all combinators of branches.
#pragma once

#include <cstddef>
#include <cstdint>
#include <tuple>
#include <utility>

#include "trireme/layers/layer.hpp"
#include "trireme/layers/pass.hpp"
#include "trireme/models/composite.hpp"
#include "trireme/models/graph_pass.hpp"
#include "trireme/models/value_sources.hpp"
#include "trireme/tensor/parts.hpp"

namespace trireme::detail {

/// All branches have the same input.
struct SameInput {
  static constexpr bool own_part = false;
  template <std::size_t I>
  static constexpr std::size_t value = 0;
  template <std::size_t I, class In>
  static constexpr auto const& of(In const& in) {
    return in;
  }
};

/// Branch i has part i of a tuple as input.
struct OwnPart {
  static constexpr bool own_part = true;
  template <std::size_t I>
  static constexpr std::size_t value = I;
  template <std::size_t I, class In>
  static constexpr auto const& of(In const& in) {
    return in.template part<I>();
  }
};

/// `Source` says which input a branch has, SameInput or OwnPart; `Join` what becomes of their outputs.
template <class Source, class Join, class... Branches>
class SideBySide : public SumsOfLayers<SideBySide<Source, Join, Branches...>> {
  static constexpr std::size_t count = sizeof...(Branches);

 public:
  using composite = void;
  /// Its layers are named as if they stood beside it, as in a functional model of Keras.
  static constexpr bool transparent = true;
  static constexpr std::uint32_t leaf_count = (std::uint32_t{0} + ... + leaf_layers<Branches>());
  static constexpr bool has_tables = (... || detail::has_tables<Branches>());

  template <class... B>
  constexpr explicit SideBySide(B const&... branches) : branches_{branches...} {}
  constexpr SideBySide() = default;

  template <class In>
  constexpr auto output(In const& in) const {
    return [&]<std::size_t... I>(std::index_sequence<I...>) {
      return Join::output(output_of(std::get<I>(branches_), Source::template of<I>(in))...);
    }
    (std::make_index_sequence<count>());
  }

  template <class In, class F>
  constexpr void for_each_layer(In const& in, F&& f) const {
    for_each_branch(in, [&](auto const& branch, auto const& own) { visit_layers(branch, own, f); });
  }

  template <class In>
  ValueSources trace_values(In const& in, ValueSources const& sources, ValueTracer& tracer) const {
    ValueSources all;
    std::size_t i = 0;
    for_each_branch(in, [&](auto const& branch, auto const& own) {
      auto const from = Source::own_part ? ValueSources{sources[i++]} : sources;
      for (ValueSource const& source : detail::trace_values(branch, own, from, tracer)) all.push_back(source);
    });
    if constexpr (Join::in_place)
      return all;
    else
      return tracer.join(Join::class_name, output(in).to_vector(), all);
  }

  template <class T, class Context, class In>
  constexpr std::size_t workspace(In const& in, std::size_t rows) const {
    return plan().template workspace<T, Context>(values_of(in), rows);
  }
  template <class Context, class In, class T>
  void forward(Context& context, In const& in, ForwardPass<T> const& f) const {
    GraphPass(plan()).forward(context, values_of(in), f);
  }
  template <class Context, class In, class T>
  void backward(Context& context, In const& in, BackwardPass<T> const& b) const {
    GraphPass(plan()).backward(context, values_of(in), b);
  }

  /// f(all branches).
  template <class F>
  constexpr auto apply_to_branches(F const& f) const {
    return std::apply(f, branches_);
  }

 private:
  /// f(branch, its input's extents), from the first to the last.
  template <class In, class F>
  constexpr void for_each_branch(In const& in, F&& f) const {
    [&]<std::size_t... I>(std::index_sequence<I...>) { (f(std::get<I>(branches_), Source::template of<I>(in)), ...); }
    (std::make_index_sequence<count>());
  }

  /// Extents of the branches' input; those of its part for a tuple of one.
  template <class In>
  static constexpr auto const& values_of(In const& in) {
    if constexpr (count == 1)
      return Source::template of<0>(in);
    else
      return in;
  }

  /// The branches as nodes of a graph, and behind them the join.
  constexpr auto plan() const {
    return [&]<std::size_t... I>(std::index_sequence<I...>) {
      constexpr std::size_t sources = Source::own_part ? count : 1;
      using Wires =
          Wiring<sources, std::index_sequence<Source::template value<I>>..., std::index_sequence<(sources + I)...>>;
      return GraphPlan<Wires, Branches..., JoinNode<Join>>(std::tie(std::get<I>(branches_)..., join));
    }
    (std::make_index_sequence<count>());
  }

  static constexpr JoinNode<Join> join{};
  std::tuple<Branches...> branches_{};
};

}  // namespace trireme::detail
