/// Models that end in the activation which their loss would undo: Softmax under a categorical crossentropy, Sigmoid
/// under the binary one. They are trained on what that activation is applied to, as Keras does on TensorFlow.
///
/// Probabilities would have to be clipped, and a sample that the model is sure to have wrong would have no gradient.
#pragma once

#include <type_traits>

namespace trireme::detail {

/// True if the model ends in the activation that the loss names as its `link`.
template <class Loss, class Architecture>
constexpr bool takes_logits() {
  if constexpr (requires {
                  typename Loss::link;
                  typename Architecture::final_activation;
                })
    return std::is_same_v<typename Loss::link, typename Architecture::final_activation>;
  else
    return false;
}

/// The trained part: the architecture, or all of it before its final activation.
template <class Loss, class Architecture>
constexpr auto trained_part(Architecture const& architecture) {
  if constexpr (takes_logits<Loss, Architecture>())
    return architecture.without_activation();
  else
    return architecture;
}

/// The loss of the trained part.
template <class Architecture, class Loss>
constexpr Loss trained_loss(Loss loss) {
  if constexpr (takes_logits<Loss, Architecture>()) loss.from_logits = true;
  return loss;
}

}  // namespace trireme::detail
