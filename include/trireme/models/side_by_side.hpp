/// Layers side by side, each with its own parameters, whose outputs are joined: all combinators of branches.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>

#include "trireme/layers/final_activation.hpp"
#include "trireme/layers/layer.hpp"
#include "trireme/layers/layer_name.hpp"
#include "trireme/models/composite.hpp"
#include "trireme/models/graph_layer.hpp"
#include "trireme/models/joins.hpp"
#include "trireme/models/wiring.hpp"
#include "trireme/tensor/parts.hpp"

namespace trireme::detail {

/// All branches have the same input.
struct SameInput {
  template <std::size_t I>
  static constexpr Values values(Values const& inputs) {
    return inputs;
  }
  template <std::size_t I, class In>
  static constexpr auto const& of(In const& in) {
    return in;
  }
};

/// Branch i has part i of a tuple as input.
struct OwnPart {
  template <std::size_t I>
  static constexpr Values values(Values const& inputs) {
    return {inputs[I]};
  }
  template <std::size_t I, class In>
  static constexpr auto const& of(In const& in) {
    return in.template part<I>();
  }
};

/// `Source` says which input a branch has, SameInput or OwnPart; `Join` what becomes of their outputs.
template <class Source, class Join, class... Branches>
class SideBySide : public GraphLayer<SideBySide<Source, Join, Branches...>> {
  static constexpr std::size_t count = sizeof...(Branches);

 public:
  using graph_of = SideBySide;
  /// Without a name its layers are named as if they stood beside it, as in a functional model of Keras.
  static constexpr bool transparent = true;
  static constexpr bool has_branches = true, joins_branches = !Join::in_place;
  static constexpr std::uint32_t leaf_count = (std::uint32_t{0} + ... + leaf_layers<Branches>());
  static constexpr bool has_tables = (... || detail::has_tables<Branches>());
  static constexpr bool has_lookups = (... || detail::has_lookups<Branches>());
  static constexpr bool has_shared = (... || detail::has_shared<Branches>());
  LayerName name{};

  template <class... B>
  constexpr explicit SideBySide(B const&... branches) : branches_{branches...} {}
  constexpr SideBySide() = default;

  /// Of branches whose outputs are those of the whole: the activation that branch I ends in.
  template <std::size_t I>
    requires(Join::in_place && I < count)
  using final_activation_of = typename FinalActivation<std::tuple_element_t<I, std::tuple<Branches...>>>::type;

  /// True if output I is part I of the input.
  template <std::size_t I>
    requires(I < count)
  static constexpr bool hands_on = Join::in_place && std::is_same_v<Source, OwnPart> &&
                                   detail::hands_on<std::tuple_element_t<I, std::tuple<Branches...>>, 0>;

  template <class In>
  constexpr auto output(In const& in) const {
    return [&]<std::size_t... I>(std::index_sequence<I...>) {
      return Join::output(output_of(std::get<I>(branches_), Source::template of<I>(in))...);
    }(std::make_index_sequence<count>());
  }

  /// Calls f(branch, its input's extents) for each, from the first to the last.
  template <class In, class F>
  constexpr void for_each_layer(In const& in, F&& f) const {
    [&]<std::size_t... I>(std::index_sequence<I...>) {
      (f(std::get<I>(branches_), Source::template of<I>(in)), ...);
    }(std::make_index_sequence<count>());
  }

  template <class Context, class In, class Builder>
  static constexpr Values wire(Values const& inputs, Builder& builder) {
    return [&]<std::size_t... I>(std::index_sequence<I...>) {
      Values outputs;
      (outputs.add(detail::wire<Context, Branches, InputOf<I, In>>(Source::template values<I>(inputs), builder)), ...);
      if constexpr (Join::in_place)
        return outputs;
      else
        return detail::wire<Context, JoinNode<Join>,
                            decltype(std::declval<SideBySide const&>().joined_input(std::declval<In const&>()))>(
            outputs, builder);
    }(std::make_index_sequence<count>());
  }
  template <class Context, class In, class F>
  constexpr void visit(In const& in, F& f) const {
    for_each_layer(in, [&](auto const& branch, auto const& own) { detail::visit<Context>(branch, own, f); });
    if constexpr (!Join::in_place) f(JoinNode<Join>{}, joined_input(in));
  }
  template <class Context, class In, class F>
  constexpr void visit_back(In const& in, F& f) const {
    if constexpr (!Join::in_place) f(JoinNode<Join>{}, joined_input(in));
    [&]<std::size_t... I>(std::index_sequence<I...>) {
      (detail::visit_back<Context>(std::get<count - 1 - I>(branches_), Source::template of<count - 1 - I>(in), f), ...);
    }(std::make_index_sequence<count>());
  }

 private:
  template <std::size_t I, class In>
  using InputOf = std::remove_cvref_t<decltype(Source::template of<I>(std::declval<In const&>()))>;

  /// Extents of the branches' outputs.
  template <class In>
  constexpr auto joined_input(In const& in) const {
    return [&]<std::size_t... I>(std::index_sequence<I...>) {
      return Parts{std::tuple{output_of(std::get<I>(branches_), Source::template of<I>(in))...}};
    }(std::make_index_sequence<count>());
  }

 protected:
  /// make(branches...) of these branches, without the final activation of those whose bit is set.
  template <std::size_t Bits, class Make>
  constexpr auto without_activations_of(Make const& make) const {
    auto const branch = [this]<std::size_t i>(std::integral_constant<std::size_t, i>) {
      if constexpr ((Bits >> i & 1) != 0)
        return std::get<i>(branches_).without_activation();
      else
        return std::get<i>(branches_);
    };
    return [&]<std::size_t... I>(std::index_sequence<I...>) {
      return make(branch(std::integral_constant<std::size_t, I>())...);
    }(std::make_index_sequence<count>());
  }

 private:
  std::tuple<Branches...> branches_{};
};

}  // namespace trireme::detail
