/// Branches: several layers on one input whose outputs are joined. Add, Concatenate and Residual are made of them, and
/// are layers themselves, so that a block of a ResNet or of a transformer is a type.
#pragma once

#include <cstddef>
#include <string_view>
#include <tuple>
#include <utility>

#include "trireme/layers/layer.hpp"
#include "trireme/layers/layer_name.hpp"
#include "trireme/models/joins.hpp"
#include "trireme/models/sequential.hpp"
#include "trireme/models/side_by_side.hpp"
#include "trireme/tensor/parts.hpp"

namespace trireme {

/// Identity, y = x, as the short cut beside other branches or for a part of a tuple that stays as it is. Any extents,
/// also those of a tuple; no parameters. Source: Keras `Identity`.
struct Skip {
  static constexpr std::string_view class_name = "Identity";
  static constexpr bool takes_parts = true;
  static constexpr bool reinterprets = true;
  template <std::size_t>
  static constexpr bool hands_on = true;  ///< output i is part i of the input
  LayerName name{};

  template <class In>
  constexpr auto output(In const& in) const {
    return in;
  }
};

namespace detail {

/// Joins of the parts of a tuple.
template <class Join>
struct PartsJoin {
  using join = Join;
  static constexpr bool takes_parts = true;
  LayerName name{};

  template <class In>
  constexpr auto output(In const& in) const {
    static_assert(is_parts<In>,
                  "trireme: Add{} and Concatenate{} without branches join the parts of a tuple, and were given one "
                  "tensor");
    return std::apply([](auto const&... part) { return Join::output(part...); }, in.all);
  }
};

}  // namespace detail

/// Sum of branches on the same input, `Add{Skip{}, Sequential{Dense<64, ReLU>{}, Dense<32>{}}}`, or without branches of
/// the parts of a tuple, `Add{}`.
///
/// Output: the extents that all summands have. No parameters but those of the branches. Source: Keras `Add`.
///
/// Compile-time errors: summands of different extents; a branch that hands on a tuple; `Add{}` of a single tensor.
/// \throws ShapeError from compile if `dynamic` extents differ.
template <class... Branches>
struct Add : detail::SideBySide<detail::SameInput, detail::SumJoin, Branches...> {
  using graph_of = Add;
  static constexpr std::string_view class_name = "Add";
  using detail::SideBySide<detail::SameInput, detail::SumJoin, Branches...>::SideBySide;
};
template <>
struct Add<> : detail::PartsJoin<detail::SumJoin> {
  static constexpr std::string_view class_name = "Add";
};
template <class... B>
Add(B const&...) -> Add<detail::as_layer_t<B>...>;

/// Outputs of branches on the same input side by side along the last axis,
/// `Concatenate{Conv2D<16, 1, 1>{}, Conv2D<16, 3, 3, Same>{}}`, or without branches the parts of a tuple,
/// `Concatenate{}`.
///
/// Output: (..., n), where n is the sum of the last extents and the others are those that all have. No parameters but
/// those of the branches. Source: Keras `Concatenate`.
///
/// Compile-time errors: different numbers of axes; extents that differ elsewhere than in the last axis; a branch that
/// hands on a tuple; `Concatenate{}` of a single tensor.
/// \throws ShapeError from compile if `dynamic` extents differ there.
template <class... Branches>
struct Concatenate : detail::SideBySide<detail::SameInput, detail::ConcatenateJoin, Branches...> {
  using graph_of = Concatenate;
  static constexpr std::string_view class_name = "Concatenate";
  using detail::SideBySide<detail::SameInput, detail::ConcatenateJoin, Branches...>::SideBySide;
};
template <>
struct Concatenate<> : detail::PartsJoin<detail::ConcatenateJoin> {
  static constexpr std::string_view class_name = "Concatenate";
};
template <class... B>
Concatenate(B const&...) -> Concatenate<detail::as_layer_t<B>...>;

/// Residual block, y = x + layers(x): `Residual{LayerNormalization<>{}, Dense<64, ReLU>{}, Dense<32>{}}`.
///
/// Input and output have the same extents; no parameters but those of the layers. Source: He et al., Deep Residual
/// Learning, 2015.
///
/// Compile-time errors: layers whose output has other extents than their input, or is a tuple.
template <class... Layers>
struct Residual : Add<Skip, Sequential<Layers...>> {
  using graph_of = Residual;
  static constexpr std::string_view class_name = "Add";
  constexpr Residual() = default;
  /// Block around these layers.
  template <class... L>
  constexpr explicit Residual(L const&... layers)
      : Add<Skip, Sequential<Layers...>>(Skip{}, Sequential<Layers...>(layers...)) {}
};
template <class... L>
Residual(L const&...) -> Residual<detail::as_layer_t<L>...>;

}  // namespace trireme
