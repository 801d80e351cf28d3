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

/// `Parallel{Dense<16>{}, Sequential{Conv2D<8, 3, 3>{}, Flatten{}}}`: layer i on part i of a tuple; the result is a
/// tuple. `Skip{}` leaves a part as it is.
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
};
template <class... B>
Parallel(B const&...) -> Parallel<detail::as_layer_t<B>...>;

/// `Fork{Dense<1>{}, Dense<10, Softmax>{}}`: several layers on one input; the result is the tuple of theirs.
template <class... Branches>
struct Fork : detail::SideBySide<detail::SameInput, detail::TupleJoin, Branches...> {
  using graph_of = Fork;
  static constexpr std::string_view class_name = "Fork";
  using detail::SideBySide<detail::SameInput, detail::TupleJoin, Branches...>::SideBySide;
};
template <class... B>
Fork(B const&...) -> Fork<detail::as_layer_t<B>...>;

}  // namespace trireme
