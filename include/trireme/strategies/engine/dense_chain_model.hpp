/// DenseChainModel: the models whose steps can be fused, by their types.
#pragma once

#include <cstddef>
#include <type_traits>
#include <utility>

#include "trireme/layers/activation.hpp"
#include "trireme/layers/dense.hpp"
#include "trireme/layers/layer.hpp"
#include "trireme/models/logits.hpp"
#include "trireme/models/model.hpp"
#include "trireme/models/sequential.hpp"

namespace trireme {

namespace detail {

/// The activation of a Dense layer or of an Activation, or void for another layer.
template <class L>
struct ChainActivation {
  using type = void;
};
template <std::size_t Units, class... Options>
struct ChainActivation<Dense<Units, Options...>> {
  using type = typename Dense<Units, Options...>::A;
};
template <class A>
struct ChainActivation<Activation<A>> {
  using type = A;
};

template <class L>
inline constexpr bool is_dense = false;
template <std::size_t Units, class... Options>
inline constexpr bool is_dense<Dense<Units, Options...>> = true;
template <class L>
inline constexpr bool is_activation = false;
template <class A>
inline constexpr bool is_activation<Activation<A>> = true;

template <class L>
consteval bool is_elementwise_layer() {
  if constexpr (is_dense<L> || is_activation<L>)
    return ChainActivation<L>::type::elementwise;
  else
    return false;
}

template <class S, std::size_t I>
using LayerOf = std::remove_cvref_t<decltype(std::declval<S const&>().template layer<I>())>;

/// True if layer I is an Activation, which the Dense layer before it takes for its own.
template <class S, std::size_t I>
consteval bool activation_follows() {
  if constexpr (I < S::layer_count)
    return is_activation<LayerOf<S, I>>;
  else
    return false;
}

/// The only activation of a Dense layer and of what follows it, if one is linear.
template <class A, class B>
constexpr auto only_activation(A const& own, B const& next) {
  if constexpr (std::is_same_v<B, Linear>)
    return own;
  else
    return next;
}

/// True if the layers from I on are Dense layers with one element-wise activation each; Flatten and Reshape may stand
/// before them.
template <class S, std::size_t I, bool has_dense>
consteval bool is_chain_from() {
  if constexpr (I == S::layer_count) {
    return has_dense;
  } else {
    using Layer = LayerOf<S, I>;
    if constexpr (reinterprets<Layer> && !has_dense) {
      return is_chain_from<S, I + 1, false>();
    } else if constexpr (!is_dense<Layer> || !is_elementwise_layer<Layer>()) {
      return false;
    } else if constexpr (activation_follows<S, I + 1>()) {
      using Next = LayerOf<S, I + 1>;
      if constexpr (std::is_same_v<typename Layer::A, Linear> ||
                    std::is_same_v<typename ChainActivation<Next>::type, Linear>)
        return is_elementwise_layer<Next>() && is_chain_from<S, I + 2, true>();
      else
        return false;
    } else {
      return is_chain_from<S, I + 1, true>();
    }
  }
}

template <class Architecture>
inline constexpr bool is_dense_chain = false;
template <class... Layers>
inline constexpr bool is_dense_chain<Sequential<Layers...>> = is_chain_from<Sequential<Layers...>, 0, false>();

template <class H>
concept HasOneLoss = requires(H const& head) {
  typename H::Loss;
  head.loss();
  head.metrics();
};

template <class M>
inline constexpr bool is_dense_chain_model = false;
template <class T, class Architecture, class Optimizer, class Loss, class... Metrics>
inline constexpr bool is_dense_chain_model<Model<T, Architecture, Optimizer, Loss, Metrics...>> =
    HasOneLoss<typename Model<T, Architecture, Optimizer, Loss, Metrics...>::Head> &&
    is_dense_chain<decltype(trained_part<Loss>(std::declval<Architecture const&>()))>;

}  // namespace detail

/// True for a model whose steps can be fused, as far as types say: a Sequential of Dense layers with element-wise
/// activations, in one number type, with one output.
template <class M>
concept DenseChainModel = detail::is_dense_chain_model<M>;

}  // namespace trireme
