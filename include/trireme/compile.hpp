/// compile: a model of architecture, optimizer, loss and metrics, placed under a strategy.
#pragma once

#include <cstdint>
#include <optional>
#include <tuple>
#include <type_traits>
#include <utility>

#include "trireme/backend/execution/parallelism.hpp"
#include "trireme/backend/execution/running.hpp"
#include "trireme/compiled_model.hpp"
#include "trireme/core/config.hpp"
#include "trireme/detail/compile_call.hpp"
#include "trireme/detail/engine_of.hpp"
#include "trireme/layers/layer.hpp"
#include "trireme/models/inference_model.hpp"
#include "trireme/models/mixed.hpp"
#include "trireme/models/model.hpp"
#include "trireme/models/model_config.hpp"
#include "trireme/models/outputs.hpp"
#include "trireme/models/trainable_model.hpp"
#include "trireme/mpi/same_config.hpp"

namespace trireme {

/// Options of compile: `compile(..., Accuracy{}, CompileOptions{.seed = 7})`. Designated initializers name the members
/// in this order.
struct CompileOptions {
  std::uint64_t seed = 0;                            ///< of initial weights and of Dropout
  Parallelism parallelism = Parallelism::automatic;  ///< of a step in a host space
};

namespace detail {

template <class M>
constexpr auto as_metric(M const& metric) {
  if constexpr (std::is_same_v<M, CompileOptions>)
    return std::tuple<>{};
  else
    return std::tuple<M>{metric};
}

template <class... Rest>
constexpr CompileOptions find_options(Rest const&... rest) {
  static_assert((0 + ... + std::is_same_v<Rest, CompileOptions>) <= 1,
                "trireme: compile takes CompileOptions at most once");
  CompileOptions options;
  [[maybe_unused]] auto const take = [&options]<class R>(R const& r) {
    if constexpr (std::is_same_v<R, CompileOptions>) options = r;
  };
  (take(rest), ...);
  return options;
}

/// The model that `make` returns on every process, after a check that all models are equal and all numbers in range.
template <class Strategy, class Make>
auto agreed_model(Strategy const& strategy, Parallelism plan, Make const& make) {
  using M = std::invoke_result_t<Make const&>;
  // Its requirements first, to be the first error. NOLINTNEXTLINE(bugprone-sizeof-expression)
  static_assert(sizeof(EngineOf<Strategy, M>) > 0);
  require_kokkos("a compiled model");
  std::optional<M> model;
  require_same_config(strategy.group(), "compile", [&](Config& c) {
    c.object("the strategy", strategy);
    c("plan", plan);
    model.emplace(make());
    list_model(c, *model);
  });
  return *std::move(model);
}

}  // namespace detail

/// Compiled model in the scalar T: float, double, or Mixed<BFloat16>. Collective where the strategy has several
/// processes. Source: Keras `Model.compile`.
///
/// \param architecture  layers that begin with an Input (Sequential, Graph). The loss and the metrics have to take its
/// output (output extents): for class indices, (..., classes).
/// \param rest  metrics, and CompileOptions anywhere among them.
///
/// Compile-time errors: one sentence that shows the right call, for arguments that are missing, swapped or of another
/// kind; for layers, losses and metrics that do not fit each other.
/// \throws ShapeError on all processes if `dynamic` extents do not fit a layer, or hold no number.
/// \throws ValueError on all processes, which names the number that is outside of its range (config.hpp), or the
/// argument of a process that differs from the chief's; or if an optimizer has more than one of clipnorm,
/// global_clipnorm and clipvalue.
template <class T = float, class Strategy, class Architecture, class Optimizer, class Loss, class... Rest>
auto compile(Strategy const& strategy, Architecture architecture, Optimizer optimizer, Loss loss, Rest... rest) {
  static_assert(std::is_floating_point_v<T> || detail::is_mixed<T>,
                "trireme: a model computes in float or double, or in Mixed precision");
  if constexpr (detail::require_compile_call<Strategy, Architecture, Optimizer, Loss, Rest...>()) {
    CompileOptions const options = detail::find_options(rest...);
    return std::apply(
        [&]<class... Metrics>(Metrics const&... metrics) {
          using M = typename detail::ModelIn<T, Architecture, Optimizer, Loss, Metrics...>::type;
          auto const make = [&] {
            return M(std::move(architecture), std::move(optimizer), std::move(loss), options.seed, metrics...);
          };
          return CompiledModel<Strategy, M>(strategy, detail::agreed_model(strategy, options.parallelism, make),
                                            options.parallelism);
        },
        std::tuple_cat(detail::as_metric(rest)...));
  }
}

/// Compiled model of a user's own class (see OwnModel), which has its own optimizer and loss in place of layers.
/// Collective where the strategy has several processes.
///
/// Compile-time errors: a class without the members of TrainableModel.
/// \throws ValueError on all processes as for layers.
template <class Strategy, class OwnModel>
  requires(!CompositeLayer<OwnModel>)
auto compile(Strategy const& strategy, OwnModel model, Parallelism plan = Parallelism::automatic) {
  static_assert(TrainableModel<OwnModel>,
                "trireme: compile takes layers with an optimizer and a loss, or a model of your own with the members "
                "that models/trainable_model.hpp lists");
  return CompiledModel<Strategy, OwnModel>(
      strategy, detail::agreed_model(strategy, plan, [&] { return std::move(model); }), plan);
}

/// Compiled model for inference alone, without optimizer and loss: it has load_weights, predict, infer and predictor.
/// It owns no gradients and no optimizer state, and ignores `options.parallelism`. For a strategy whose processes hold
/// whole models. Collective where the strategy has several processes.
///
/// Compile-time errors: a strategy that divides the model; later, a call of `fit`, `evaluate` or `train_on_batch`.
/// \throws ShapeError or ValueError on all processes as for a model that trains.
template <class T = float, class Strategy, class Architecture>
  requires CompositeLayer<Architecture>
auto compile(Strategy const& strategy, Architecture architecture, CompileOptions const& options = {}) {
  static_assert(std::is_floating_point_v<T> || detail::is_mixed<T>,
                "trireme: a model computes in float or double, or in Mixed precision");
  using M = typename detail::ModelIn<T, Architecture, detail::NoOptimizer, detail::NoLoss>::type;
  return CompiledModel<Strategy, M>(
      strategy,
      detail::agreed_model(strategy, options.parallelism,
                           [&] { return M(std::move(architecture), {}, {}, options.seed); }),
      options.parallelism);
}

}  // namespace trireme
