/// Layers side by side, each with its own parameters: shared by all combinators of branches.
#pragma once

#include <cstddef>
#include <cstdint>
#include <tuple>
#include <utility>

#include "trireme/layers/layer.hpp"
#include "trireme/models/composite.hpp"
#include "trireme/models/input_sources.hpp"
#include "trireme/tensor/parts.hpp"

namespace trireme::detail {

/// All branches have the same input.
struct SameInput {
  static constexpr bool own_part = false;
  template <std::size_t I, class In>
  static constexpr auto const& of(In const& in) {
    return in;
  }
};

/// Branch i has part i of a tuple as input.
struct OwnPart {
  static constexpr bool own_part = true;
  template <std::size_t I, class In>
  static constexpr auto const& of(In const& in) {
    return in.template part<I>();
  }
};

/// `Source` says which input a branch has: SameInput or OwnPart.
template <class Source, class... Branches>
class SideBySide : public SumsOfLayers<SideBySide<Source, Branches...>> {
 public:
  using composite = void;
  /// Its layers are named as if they stood beside it, as in a functional model of Keras.
  static constexpr bool transparent = true;
  static constexpr std::uint32_t leaf_count = (std::uint32_t{0} + ... + leaf_layers<Branches>());
  static constexpr bool has_tables = (... || detail::has_tables<Branches>());

  template <class... B>
  constexpr explicit SideBySide(B const&... branches) : branches_{branches...} {}
  constexpr SideBySide() = default;

  template <class In, class F>
  constexpr void for_each_layer(In const& in, F&& f) const {
    for_each_branch(in, [&](auto const& branch, auto const& own) { visit_layers(branch, own, f); });
  }

  template <class In, class F>
  InputSources trace_inputs(In const& in, InputSources const& sources, F const& f) const {
    InputSources all;
    std::size_t i = 0;
    for_each_branch(in, [&](auto const& branch, auto const& own) {
      auto const from = Source::own_part ? InputSources{sources[i++]} : sources;
      for (std::size_t const source : detail::trace_inputs(branch, own, from, f)) all.push_back(source);
    });
    return all;
  }

  /// f(all branches).
  template <class F>
  constexpr auto apply_to_branches(F const& f) const {
    return std::apply(f, branches_);
  }

 protected:
  static constexpr std::size_t count = sizeof...(Branches);

  /// f(branch, its input's extents), from the first to the last.
  template <class In, class F>
  constexpr void for_each_branch(In const& in, F&& f) const {
    [&]<std::size_t... I>(std::index_sequence<I...>) { (f(std::get<I>(branches_), Source::template of<I>(in)), ...); }
    (std::make_index_sequence<count>());
  }

  /// f(extents of each branch's output...).
  template <class In, class F>
  constexpr auto with_outputs(In const& in, F&& f) const {
    return [&]<std::size_t... I>(std::index_sequence<I...>) {
      return f(output_of(std::get<I>(branches_), Source::template of<I>(in))...);
    }
    (std::make_index_sequence<count>());
  }

  std::tuple<Branches...> branches_{};
};

}  // namespace trireme::detail
