/// EngineOf: the engine of a strategy's process, for models that train and for those that only infer.
#pragma once

#include <utility>

#include "trireme/backend/execution/parallelism.hpp"
#include "trireme/models/inference_model.hpp"
#include "trireme/models/state_file.hpp"
#include "trireme/strategies/inference/inference_engine.hpp"
#include "trireme/strategies/strategy.hpp"

namespace trireme::detail {

/// The engine that a strategy builds for a model: its own Engine to train, an InferenceEngine for inference alone.
template <class Strategy, class Model>
struct EngineOf {
  static_assert(require_build<Strategy, Model>());  // first, to be the first error
  using Engine = typename Strategy::template Engine<Model>;
  static Engine build(Strategy const& strategy, Model model, Parallelism plan) {
    return strategy.build(std::move(model), plan);
  }
};
template <class Strategy, class Model>
  requires(!is_trainable<Model>)
struct EngineOf<Strategy, Model> {
  static_assert(require_inference<Strategy>());
  using Engine = InferenceEngineOf<Strategy, Model>;
  static Engine build(Strategy const& strategy, Model model, Parallelism plan) {
    return building_strategy(strategy).template build_as<Engine>(std::move(model), plan);
  }
};

/// True if a process's engine has all weights, perhaps after a gather.
template <class Engine>
inline constexpr bool holds_model = !is_divided<Engine>;
template <class Engine>
  requires requires { Engine::holds_all; }
inline constexpr bool holds_model<Engine> = Engine::holds_all;

}  // namespace trireme::detail
