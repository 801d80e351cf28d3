/// Activations that layers end in, which a loss may take the argument of.
#pragma once

#include <cstddef>

namespace trireme::detail {

/// Activation that a layer ends in; void: none.
template <class L>
struct FinalActivation {
  using type = void;
};
template <class L>
  requires requires { typename L::final_activation; }
struct FinalActivation<L> {
  using type = typename L::final_activation;
};

/// The activation that output I of a layer with several ends in; void: none.
template <class L, std::size_t I>
struct FinalActivationOf {
  using type = void;
};
template <class L, std::size_t I>
  requires requires { typename L::template final_activation_of<I>; }
struct FinalActivationOf<L, I> {
  using type = typename L::template final_activation_of<I>;
};

/// True if output I of a layer is part I of its input.
template <class L, std::size_t I>
inline constexpr bool hands_on = requires { requires L::template hands_on<I>; };

}  // namespace trireme::detail
