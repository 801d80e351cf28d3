/// Models, and outputs, that end in the activation which their loss would undo: Softmax under a categorical
/// crossentropy, Sigmoid under the binary one. They are trained on what that activation is applied to, as Keras does on
/// TensorFlow.
///
/// Probabilities would have to be clipped, and a sample that the model is sure to have wrong would have no gradient.
#pragma once

#include <cstddef>
#include <tuple>
#include <type_traits>
#include <utility>

#include "trireme/layers/activation.hpp"
#include "trireme/layers/copy.hpp"
#include "trireme/layers/final_activation.hpp"
#include "trireme/layers/layer.hpp"
#include "trireme/layers/pass.hpp"
#include "trireme/models/output.hpp"
#include "trireme/models/sequential.hpp"
#include "trireme/tensor/parts.hpp"

namespace trireme::detail {

/// The losses of a model's outputs: one, or those of Outputs.
template <class Loss>
struct LossesOf {
  static constexpr std::size_t count = 1;
  template <std::size_t>
  using at = Loss;
};
template <class... O>
struct LossesOf<Outputs<O...>> {
  static constexpr std::size_t count = sizeof...(O);
  template <std::size_t I>
  using at = typename std::tuple_element_t<I, std::tuple<O...>>::Loss;
};

/// True if output I, of `count`, ends in the activation that its loss names as its `link`.
template <class Loss, class Architecture, std::size_t count, std::size_t I>
constexpr bool ends_in_link() {
  if constexpr (!requires { typename Loss::link; })
    return false;
  else if constexpr (count > 1)
    return std::is_same_v<typename Loss::link, typename FinalActivationOf<Architecture, I>::type>;
  else
    return std::is_same_v<typename Loss::link, typename FinalActivation<Architecture>::type>;
}

template <class Given, class Architecture, std::size_t... I>
constexpr std::size_t bits_on_logits(std::index_sequence<I...>) {
  using Losses = LossesOf<Given>;
  return (std::size_t{0} + ... +
          (std::size_t{ends_in_link<typename Losses::template at<I>, Architecture, Losses::count, I>()} << I));
}
/// The outputs that end so: bit I for output I. Without a lambda, in which nvcc takes a parameter for the concept Loss.
template <class Given, class Architecture>
inline constexpr std::size_t outputs_on_logits =
    bits_on_logits<Given, Architecture>(std::make_index_sequence<LossesOf<Given>::count>());

/// True if some output ends so.
template <class Given, class Architecture>
constexpr bool takes_logits() {
  return outputs_on_logits<Given, Architecture> != 0;
}

/// The trained part: the architecture, or all of it before these activations.
template <class Given, class Architecture>
constexpr auto trained_part(Architecture const& architecture) {
  if constexpr (!takes_logits<Given, Architecture>())
    return architecture;
  else if constexpr (LossesOf<Given>::count > 1)
    return architecture.template without_activations<outputs_on_logits<Given, Architecture>, LossesOf<Given>::count>();
  else
    return architecture.without_activation();
}

/// The losses of the trained part.
template <class Architecture, class Given>
constexpr Given trained_loss(Given loss) {
  if constexpr (takes_logits<Given, Architecture>()) loss.from_logits = true;
  return loss;
}
template <class Architecture, class... O>
constexpr Outputs<O...> trained_loss(Outputs<O...> given) {
  [&]<std::size_t... I>(std::index_sequence<I...>) {
    auto const set = [&]<std::size_t i>(std::integral_constant<std::size_t, i>) {
      if constexpr ((outputs_on_logits<Outputs<O...>, Architecture> >> i & 1) != 0)
        std::get<i>(given.all).loss.from_logits = true;
    };
    (set(std::integral_constant<std::size_t, I>()), ...);
  }(std::index_sequence_for<O...>());
  return given;
}

/// Outputs y from z, the outputs of the trained part; of several, all rows of each come one after the other. z and y
/// may be the same memory.
template <class Given, class Architecture, class Context, class Out, class T>
void activate_outputs(Context& context, Out const& output, std::size_t rows, T const* z, T* y) {
  auto const activate = [&]<std::size_t i>(std::integral_constant<std::size_t, i>) {
    auto const& extents = part_of<i>(output);
    std::size_t begin = 0;
    if constexpr (is_parts<Out>) begin = rows * output.template before<i>();
    if constexpr ((outputs_on_logits<Given, Architecture> >> i & 1) != 0) {
      using Link = typename LossesOf<Given>::template at<i>::link;
      run_forward(context, Activation<Link>{}, extents,
                  ForwardPass<T>{.rows = rows,
                                 .x = z + begin,
                                 .y = y + begin,
                                 .parameters = nullptr,
                                 .workspace = nullptr,
                                 .keys = {},
                                 .training = false});
    } else if (z != y) {
      kernels::copy(context, rows * extents.size(), z + begin, y + begin);
    }
  };
  [&]<std::size_t... I>(std::index_sequence<I...>) {
    (activate(std::integral_constant<std::size_t, I>()), ...);
  }(std::make_index_sequence<LossesOf<Given>::count>());
}

}  // namespace trireme::detail
