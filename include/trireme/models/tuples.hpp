/// Models whose layers hand on tuples of tensors: Fork makes a tuple, Parallel gives each part a layer of its own, Each
/// the same layer to all. They are layers themselves; Add{} and Concatenate{} join the parts (models/branches.hpp).
///
///     Sequential{Inputs{Input<32>{}, Input<32>{}}, Each{Sequential{Dense<64, ReLU>{}, Dense<16>{}}}, Concatenate{},
///                Fork{Dense<1>{}, Dense<10>{}}}
#pragma once

#include <cstddef>
#include <string_view>
#include <tuple>
#include <utility>

#include "trireme/layers/copy.hpp"
#include "trireme/layers/layer.hpp"
#include "trireme/models/sequential.hpp"
#include "trireme/models/side_by_side.hpp"
#include "trireme/tensor/parts.hpp"

namespace trireme {

/// Layer i on part i of a tuple, whose result is a tuple:
/// `Parallel{Dense<16>{}, Sequential{Conv2D<8, 3, 3>{}, Flatten{}}}`. `Skip{}` leaves a part as it is.
///
/// Input and output: tuples of as many tensors as there are layers. Each layer has its own parameters.
///
/// Compile-time errors: a single tensor as input; other than one layer for each part; a layer whose output is a tuple.
template <class... Branches>
struct Parallel : detail::SideBySide<detail::OwnPart, detail::TupleJoin, Branches...> {
  using Base = detail::SideBySide<detail::OwnPart, detail::TupleJoin, Branches...>;

  using graph_of = Parallel;
  static constexpr std::string_view class_name = "Parallel";
  using Base::Base;

  template <class In>
  constexpr auto output(In const& in) const {
    static_assert(is_parts<In>, "trireme: Parallel takes a tuple of tensors; Fork applies several layers to one");
    static_assert(parts_count<In> == sizeof...(Branches),
                  "trireme: Parallel needs as many branches as its input has parts");
    return Base::output(in);
  }

  /// The branches, without the final activation of those whose bit is set.
  template <std::size_t Bits, std::size_t>
  constexpr auto without_activations() const {
    return this->template without_activations_of<Bits>([](auto const&... b) { return trireme::Parallel(b...); });
  }
};
template <class... B>
Parallel(B const&...) -> Parallel<detail::as_layer_t<B>...>;

/// Several layers on one input, whose result is the tuple of theirs: `Fork{Dense<1>{}, Dense<10, Softmax>{}}`.
///
/// Input: extents that all layers take; output: a tuple of as many tensors as there are layers. Each layer has its own
/// parameters.
///
/// Compile-time errors: a layer whose output is a tuple.
template <class... Branches>
struct Fork : detail::SideBySide<detail::SameInput, detail::TupleJoin, Branches...> {
  using graph_of = Fork;
  static constexpr std::string_view class_name = "Fork";
  using detail::SideBySide<detail::SameInput, detail::TupleJoin, Branches...>::SideBySide;

  /// The branches, without the final activation of those whose bit is set.
  template <std::size_t Bits, std::size_t>
  constexpr auto without_activations() const {
    return this->template without_activations_of<Bits>([](auto const&... b) { return trireme::Fork(b...); });
  }
};
template <class... B>
Fork(B const&...) -> Fork<detail::as_layer_t<B>...>;

}  // namespace trireme
