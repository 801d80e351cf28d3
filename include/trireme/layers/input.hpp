/// The extents of one sample: the first entry of a model.
#pragma once

#include <array>
#include <cstddef>
#include <tuple>

#include "trireme/layers/options.hpp"
#include "trireme/tensor/extents.hpp"
#include "trireme/tensor/parts.hpp"

namespace trireme {

/// Extents of one sample, at the beginning of a model: `Input<28, 28, 1>{}`; with extents from the command line
/// `Input<dynamic, 3>{.extents = {n, 3}}`. The axis of the batch is not among them, and channels come last.
///
/// Compile-time errors: no extent, or one of 0.
/// \throws ShapeError from `compile` if a `dynamic` extent is 0.
template <std::size_t... E>
struct Input {
  static_assert(((E > 0) && ...), "trireme: the extents of Input are at least 1, not 0");
  static_assert(sizeof...(E) > 0, "trireme: Input needs at least one extent, such as Input<784>");
  Extents<E...> extents{};
};
template <class... Values>
Input(Values const&...) -> Input<detail::size_from_values<Values...>()>;

/// Inputs of a model that takes several tensors: `Inputs{Input<3>{}, Input<8, 8, 1>{}}`. The first layer takes the
/// tuple of them, with extents Parts<(3), (8, 8, 1)>.
///
/// Compile-time errors: fewer than two entries.
template <class... I>
struct Inputs {
  static_assert(sizeof...(I) > 1, "trireme: Inputs needs several entries; a model of one input begins with Input");
  Parts<decltype(I::extents)...> extents{};

  constexpr Inputs() = default;
  /// Tuple of inputs, in the order of the model's tensors.
  constexpr explicit Inputs(I const&... input) : extents{{input.extents...}} {}
};

namespace detail {
template <class>
inline constexpr bool is_input = false;
template <std::size_t... E>
inline constexpr bool is_input<Input<E...>> = true;
template <class... I>
inline constexpr bool is_input<Inputs<I...>> = true;
}  // namespace detail

}  // namespace trireme
