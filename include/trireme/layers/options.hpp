/// Options of layers that change shapes or control flow: tag types in any order, `Conv2D<32, 3, 3, ReLU, Same>`.
#pragma once

#include <cstddef>
#include <type_traits>

#include "trireme/activations/linear.hpp"
#include "trireme/concepts/activation.hpp"

namespace trireme {

/// The output covers only positions at which the whole window lies inside (the default).
struct Valid {};
/// As many outputs as inputs (divided by the stride, rounded up), zeros around; the odd one is put at the end.
struct Same {};
struct NoBias {};
/// Normalization without gamma, or without beta.
struct NoScale {};
struct NoCenter {};
/// A recurrent layer's output for all steps instead of the last one; and its steps from the last to the first.
struct ReturnSequences {};
struct GoBackwards {};
/// What a recurrent layer applies to its gates.
template <class A>
struct RecurrentActivation {
  using type = A;
};
/// Attention to the position itself and those before it only; its widths where they differ from the usual ones.
struct Causal {};
template <std::size_t N>
struct ValueDim {
  static_assert(N > 0, "trireme: ValueDim is at least 1, not 0");
  static constexpr std::size_t value = N;
};
template <std::size_t N>
struct OutputDim {
  static_assert(N > 0, "trireme: OutputDim is at least 1, not 0");
  static constexpr std::size_t value = N;
};
/// The axis of a sample that is meant, counted from 1 as in Keras, where the batch is axis 0.
template <std::size_t N>
struct Axis {
  static_assert(N > 0, "trireme: Axis is at least 1, not 0");
  static constexpr std::size_t value = N;
};
/// The last N axes together, where one is meant otherwise.
template <std::size_t N>
struct LastAxes {
  static_assert(N > 0, "trireme: LastAxes is at least 1, not 0");
  static constexpr std::size_t value = N;
};

template <std::size_t H, std::size_t W>
struct Strides {
  static_assert(H > 0 && W > 0, "trireme: the strides of a layer are at least 1 x 1, not 0");
  static constexpr std::size_t height = H, width = W;
};
template <std::size_t H, std::size_t W>
struct Dilation {
  static_assert(H > 0 && W > 0, "trireme: the dilation of a layer is at least 1 x 1, not 0");
  static constexpr std::size_t height = H, width = W;
};

namespace detail {

template <class>
inline constexpr bool is_strides = false;
template <std::size_t H, std::size_t W>
inline constexpr bool is_strides<Strides<H, W>> = true;
template <class>
inline constexpr bool is_dilation = false;
template <std::size_t H, std::size_t W>
inline constexpr bool is_dilation<Dilation<H, W>> = true;

template <class>
inline constexpr bool is_recurrent_activation = false;
template <class A>
inline constexpr bool is_recurrent_activation<RecurrentActivation<A>> = true;

template <class Default, template <class> class Matches, class... Options>
struct FindOption {
  using type = Default;
};
template <class Default, template <class> class Matches, class First, class... Rest>
struct FindOption<Default, Matches, First, Rest...> {
  using type = typename std::conditional_t<Matches<First>::value, std::type_identity<First>,
                                           FindOption<Default, Matches, Rest...>>::type;
};

template <class O>
using MatchesActivation = std::bool_constant<ActivationFunction<O>>;
template <class O>
using MatchesStrides = std::bool_constant<is_strides<O>>;
template <class O>
using MatchesDilation = std::bool_constant<is_dilation<O>>;
template <class O>
using MatchesRecurrentActivation = std::bool_constant<is_recurrent_activation<O>>;
template <class O>
using MatchesPadding = std::bool_constant<std::is_same_v<O, Same> || std::is_same_v<O, Valid>>;

template <class... Options>
using activation_option = typename FindOption<Linear, MatchesActivation, Options...>::type;
template <class Default, class... Options>
using strides_option = typename FindOption<Default, MatchesStrides, Options...>::type;
template <class... Options>
using dilation_option = typename FindOption<Dilation<1, 1>, MatchesDilation, Options...>::type;
template <class Default, class... Options>
using recurrent_activation_option =
    typename FindOption<RecurrentActivation<Default>, MatchesRecurrentActivation, Options...>::type::type;
template <class... Options>
inline constexpr bool is_same_padded =
    std::is_same_v<typename FindOption<Valid, MatchesPadding, Options...>::type, Same>;
template <template <std::size_t> class Option, class O>
inline constexpr bool is_number_option = false;
template <template <std::size_t> class Option, std::size_t N>
inline constexpr bool is_number_option<Option, Option<N>> = true;

/// The number in the option `Option<N>`, or the default.
template <template <std::size_t> class Option, std::size_t Default, class... Options>
inline constexpr std::size_t number_option = [] {
  std::size_t number = Default;
  [[maybe_unused]] auto const take = [&]<class O>(std::type_identity<O>) {
    if constexpr (is_number_option<Option, O>) number = O::value;
  };
  (take(std::type_identity<Options>{}), ...);
  return number;
}();

template <class Option, class... Options>
inline constexpr bool has_option = (std::is_same_v<Option, Options> || ...);

}  // namespace detail
}  // namespace trireme
