/// Options of layers that change shapes or control flow: tag types in any order, `Conv2D<32, 3, 3, ReLU, Same>`.
///
/// A layer declares the kinds that it takes and reads its options through that declaration, which checks them:
///
///     using Chosen = detail::ChosenOptions<detail::Takes<detail::AnyActivation, NoBias>, Options...>;
///     static_assert(detail::NoMisfit<typename Chosen::Misfit>,
///                   "trireme: Dense takes as options an activation and NoBias, each once at most");
///     using A = typename Chosen::template get<detail::AnyActivation, Linear>;
///     static constexpr bool use_bias = !Chosen::template has<NoBias>;
#pragma once

#include <cstddef>
#include <type_traits>

#include "trireme/activations/activation.hpp"
#include "trireme/activations/linear.hpp"

namespace trireme {

/// Padding of Conv2D and pooling, the default: windows that lie wholly inside, Keras's `padding="valid"`.
struct Valid {};

/// Padding of Conv2D and pooling to ceil(extent / stride) outputs, Keras's `padding="same"`: zeros around (pooling
/// leaves them out); the odd one is put at the end.
struct Same {};

/// Layer without its bias, Keras's `use_bias=False`.
struct NoBias {};

/// Normalization without the factor gamma, Keras's `scale=False`.
struct NoScale {};

/// Normalization without the summand beta, Keras's `center=False`.
struct NoCenter {};

/// Output of a recurrent layer for all steps, (time, units), instead of the last one, (units); Keras's
/// `return_sequences=True`.
struct ReturnSequences {};

/// Steps of a recurrent layer from the last to the first, Keras's `go_backwards=True`.
struct GoBackwards {};

/// Activation of a recurrent layer's gates, `RecurrentActivation<HardSigmoid>`; the default is Sigmoid. Keras's
/// `recurrent_activation`. Compile-time error: one that is not elementwise, or whose derivative does not follow from
/// its output.
template <class A>
struct RecurrentActivation {
  using type = A;
};
/// Attention of a position to itself and to those before it only; Keras's `use_causal_mask=True`.
struct Causal {};
/// Width of an attention head's values, where it differs from that of the keys; Keras's `value_dim`. Compile-time
/// error: 0.
template <std::size_t N>
struct ValueDim {
  static_assert(N > 0, "trireme: ValueDim is at least 1, not 0");
  static constexpr std::size_t value = N;
};
/// Width of an attention layer's output, where it differs from that of the queries' input; Keras's `output_shape`.
/// Compile-time error: 0.
template <std::size_t N>
struct OutputDim {
  static_assert(N > 0, "trireme: OutputDim is at least 1, not 0");
  static constexpr std::size_t value = N;
};
/// Axis of a sample that BatchNormalization takes for the features, counted from 1 as in Keras, where the batch is axis
/// 0. Compile-time error: 0.
template <std::size_t N>
struct Axis {
  static_assert(N > 0, "trireme: Axis is at least 1, not 0");
  static constexpr std::size_t value = N;
};
/// Number of last axes that LayerNormalization normalizes over together; the default is 1. Compile-time error: 0.
template <std::size_t N>
struct LastAxes {
  static_assert(N > 0, "trireme: LastAxes is at least 1, not 0");
  static constexpr std::size_t value = N;
};

/// Step between windows of Conv2D and pooling in positions, (height, width); Keras's `strides`. Compile-time error: 0.
template <std::size_t H, std::size_t W>
struct Strides {
  static_assert(H > 0 && W > 0, "trireme: the strides of a layer are at least 1 x 1, not 0");
  static constexpr std::size_t height = H, width = W;
};
/// Distance between the elements of a Conv2D window in positions, (height, width); Keras's `dilation_rate`.
/// Compile-time error: 0.
template <std::size_t H, std::size_t W>
struct Dilation {
  static_assert(H > 0 && W > 0, "trireme: the dilation of a layer is at least 1 x 1, not 0");
  static constexpr std::size_t height = H, width = W;
};

namespace detail {

// Kinds of options. A tag such as NoBias is a kind by itself.
struct AnyActivation;
struct AnyRecurrentActivation;
struct AnyPadding;
struct AnyStrides;
struct AnyDilation;
template <template <std::size_t> class Option>
struct AnyNumber;

template <class Kind, class Option>
inline constexpr bool is_of_kind = std::is_same_v<Kind, Option>;
template <class Option>
inline constexpr bool is_of_kind<AnyActivation, Option> = ActivationFunction<Option>;
template <ActivationFunction A>
inline constexpr bool is_of_kind<AnyRecurrentActivation, RecurrentActivation<A>> = true;
template <class Option>
inline constexpr bool is_of_kind<AnyPadding, Option> = std::is_same_v<Option, Same> || std::is_same_v<Option, Valid>;
template <std::size_t H, std::size_t W>
inline constexpr bool is_of_kind<AnyStrides, Strides<H, W>> = true;
template <std::size_t H, std::size_t W>
inline constexpr bool is_of_kind<AnyDilation, Dilation<H, W>> = true;
template <template <std::size_t> class Option, std::size_t N>
inline constexpr bool is_of_kind<AnyNumber<Option>, Option<N>> = true;

/// The first of the options that is of the kind, or the default.
template <class Kind, class Default, class... Options>
struct FindOption {
  using type = Default;
};
template <class Kind, class Default, class First, class... Rest>
struct FindOption<Kind, Default, First, Rest...> {
  using type = typename std::conditional_t<is_of_kind<Kind, First>, std::type_identity<First>,
                                           FindOption<Kind, Default, Rest...>>::type;
};

/// Kinds of options that a layer takes.
template <class... Kinds>
struct Takes {};

// The first misfit among the options of a layer, which compilers show below the layer's sentence.
struct NoOption;
template <class Option>
struct NotTaken;
template <class Option>
struct OneOfSeveral;

template <class Misfit>
concept NoMisfit = std::is_same_v<Misfit, NoOption>;

template <class... Misfits>
struct FirstMisfit {
  using type = NoOption;
};
template <class First, class... Rest>
struct FirstMisfit<First, Rest...> {
  using type = typename std::conditional_t<NoMisfit<First>, FirstMisfit<Rest...>, std::type_identity<First>>::type;
};

/// For a layer without a sentence of its own, and for one that reads an option of a kind that it does not declare.
template <class Misfit, bool is_declared>
consteval bool require_option() {
  static_assert(NoMisfit<Misfit>,
                "trireme: a layer was given an option that it does not take, or two options of one kind");
  static_assert(is_declared, "trireme: a layer reads options of kinds that its list Takes<...> does not have");
  return true;
}

/// The options of a layer: each of a kind that it takes, and of each kind one at most.
template <class Kinds, class... Options>
class ChosenOptions;
template <class... Kinds, class... Options>
class ChosenOptions<Takes<Kinds...>, Options...> {
  template <class Kind>
  static constexpr std::size_t count = (std::size_t{0} + ... + is_of_kind<Kind, Options>);
  template <class Option>
  static constexpr bool is_taken = (... || is_of_kind<Kinds, Option>);
  template <class Option>
  static constexpr bool is_only_one = (... && (!is_of_kind<Kinds, Option> || count<Kinds> == 1));

  template <class Option>
  using MisfitOf =
      std::conditional_t<is_taken<Option>, std::conditional_t<is_only_one<Option>, NoOption, OneOfSeveral<Option>>,
                         NotTaken<Option>>;

 public:
  /// NoOption if all options fit.
  using Misfit = typename FirstMisfit<MisfitOf<Options>...>::type;

 private:
  template <class Kind>
  static constexpr bool may_read = require_option<Misfit, (... || std::is_same_v<Kind, Kinds>)>();

 public:
  /// The option of the kind, or the default.
  template <class Kind, class Default>
    requires may_read<Kind>
  using get = typename FindOption<Kind, Default, Options...>::type;

  /// The number in the option `Option<n>`, or the default.
  template <template <std::size_t> class Option, std::size_t Default>
  static constexpr std::size_t number = get<AnyNumber<Option>, std::integral_constant<std::size_t, Default>>::value;

  template <class Tag>
  static constexpr bool has = may_read<Tag> && (... || std::is_same_v<Tag, Options>);
};

/// The option, or Linear in place of an activation.
template <class Option>
using without_activation_t = std::conditional_t<is_of_kind<AnyActivation, Option>, Linear, Option>;

using AllOptions = Takes<AnyActivation, AnyRecurrentActivation, AnyPadding, AnyStrides, AnyDilation,
                         AnyNumber<ValueDim>, AnyNumber<OutputDim>, AnyNumber<Axis>, AnyNumber<LastAxes>, NoBias,
                         NoScale, NoCenter, ReturnSequences, GoBackwards, Causal>;
template <class Value, class... Kinds>
consteval bool is_size_or_option(Takes<Kinds...>) {
  return std::is_integral_v<Value> || (... || is_of_kind<Kinds, Value>);
}

/// The result of a layer's deduction guide, `Dense{32, ReLU{}}`: a sentence instead of a size.
template <class... Values>
  requires(... || is_size_or_option<Values>(AllOptions{}))
consteval std::size_t size_from_values() {
  static_assert(sizeof...(Values) == 0,
                "trireme: sizes and options of a layer are arguments of its template, not values: Dense<32, ReLU>{}, "
                "Input<28, 28, 1>{}");
  return 1;
}

}  // namespace detail
}  // namespace trireme
