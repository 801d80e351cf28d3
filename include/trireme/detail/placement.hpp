/// The part of a model that a strategy's process holds, for models that train and for those that only infer.
#pragma once

#include <utility>

#include "trireme/backend/execution/plan.hpp"
#include "trireme/models/inference_model.hpp"
#include "trireme/models/state_file.hpp"
#include "trireme/strategies/inference/inference_part.hpp"
#include "trireme/strategies/strategy.hpp"

namespace trireme::detail {

/// How a strategy places a model: one that trains as its own Part, one for inference alone as an InferencePart.
template <class Strategy, class Model>
struct Placement {
  static_assert(require_placement<Strategy, Model>());  // first, to be the first error
  using Part = typename Strategy::template Part<Model>;
  static Part place(Strategy const& strategy, Model model, Plan plan) { return strategy.place(std::move(model), plan); }
};
template <class Strategy, class Model>
requires(!is_trainable<Model>) struct Placement<Strategy, Model> {
  static_assert(require_inference<Strategy>());
  using Part = InferencePartOf<Strategy, Model>;
  static Part place(Strategy const& strategy, Model model, Plan plan) {
    return placing_strategy(strategy).template place_as<Part>(std::move(model), plan);
  }
};

/// Whether a process's part has all weights, perhaps after a gather.
template <class Part>
inline constexpr bool holds_model = !is_divided<Part>;
template <class Part>
requires requires { Part::holds_all; }
inline constexpr bool holds_model<Part> = Part::holds_all;

}  // namespace trireme::detail
