// expect loss_before_optimizer: trireme: the optimizer stands before loss and metrics
// expect names_as_in_keras: trireme: optimizers, losses and metrics are objects, not names
// expect loss_by_name: trireme: optimizers, losses and metrics are objects, not names
// expect metric_by_name: trireme: optimizers, losses and metrics are objects, not names
// expect metrics_before_loss: trireme: the loss stands before the metrics
// expect metric_before_optimizer: trireme: the optimizer stands before loss and metrics
// expect loss_as_metric: trireme: a loss stands where a metric belongs
// expect loss_forgotten: trireme: compile takes a strategy, layers, an optimizer and a loss
// expect optimizer_forgotten: trireme: the optimizer stands before loss and metrics
// expect strategy_forgotten: trireme: compile takes the strategy first
// expect strategy_forgotten_and_a_metric: trireme: compile takes the strategy first
// expect strategy_behind_model: trireme: compile takes the strategy first
// expect execution_space: trireme: an execution space stands where a strategy belongs
// expect layer_as_model: trireme: compile takes a model behind the strategy
// expect layers_without_input: trireme: a model begins with an Input
// expect compiled_model_as_layers: trireme: compile takes a model behind the strategy
// expect callback_as_metric: trireme: a metric needs name, direction, state_size
// expect options_by_position: trireme: options of compile have a name
#include "trireme/callbacks/early_stopping.hpp"
#include "trireme/compile.hpp"
#include "trireme/layers/dense.hpp"
#include "trireme/losses/mean_absolute_error.hpp"
#include "trireme/losses/mean_squared_error.hpp"
#include "trireme/metrics/means.hpp"
#include "trireme/models/sequential.hpp"
#include "trireme/optimizers/adam.hpp"
#include "trireme/strategies/data_parallel/one_device.hpp"

namespace tr = trireme;

void compile_model() {
  tr::OneDeviceStrategy<> const strategy;
  tr::Sequential const layers{tr::Input<1>{}, tr::Dense<1>{}};
#if defined(misuse_loss_before_optimizer)
  auto model = tr::compile(strategy, layers, tr::MeanSquaredError{}, tr::Adam{});
#elif defined(misuse_names_as_in_keras)
  auto model = tr::compile(strategy, layers, "adam", "mse");
#elif defined(misuse_loss_by_name)
  auto model = tr::compile(strategy, layers, tr::Adam{}, "mse");
#elif defined(misuse_metric_by_name)
  auto model = tr::compile(strategy, layers, tr::Adam{}, tr::MeanSquaredError{}, "mae");
#elif defined(misuse_metrics_before_loss)
  auto model = tr::compile(strategy, layers, tr::Adam{}, tr::metrics::MeanAbsoluteError{}, tr::MeanSquaredError{});
#elif defined(misuse_metric_before_optimizer)
  auto model = tr::compile(strategy, layers, tr::metrics::MeanAbsoluteError{}, tr::Adam{}, tr::MeanSquaredError{});
#elif defined(misuse_loss_as_metric)
  auto model = tr::compile(strategy, layers, tr::Adam{}, tr::MeanSquaredError{}, tr::MeanAbsoluteError{});
#elif defined(misuse_loss_forgotten)
  auto model = tr::compile(strategy, layers, tr::Adam{});
#elif defined(misuse_optimizer_forgotten)
  auto model = tr::compile(strategy, layers, tr::MeanSquaredError{}, tr::metrics::MeanAbsoluteError{});
#elif defined(misuse_strategy_forgotten)
  auto model = tr::compile(layers, tr::Adam{}, tr::MeanSquaredError{});
#elif defined(misuse_strategy_forgotten_and_a_metric)
  auto model = tr::compile(layers, tr::Adam{}, tr::MeanSquaredError{}, tr::metrics::MeanAbsoluteError{});
#elif defined(misuse_strategy_behind_model)
  auto model = tr::compile(layers, strategy, tr::Adam{}, tr::MeanSquaredError{});
#elif defined(misuse_execution_space)
  auto model = tr::compile(Kokkos::DefaultHostExecutionSpace{}, layers, tr::Adam{}, tr::MeanSquaredError{});
#elif defined(misuse_layer_as_model)
  auto model = tr::compile(strategy, tr::Dense<1>{}, tr::Adam{}, tr::MeanSquaredError{});
#elif defined(misuse_layers_without_input)
  auto model = tr::compile(strategy, tr::Sequential{tr::Dense<1>{}}, tr::Adam{}, tr::MeanSquaredError{});
#elif defined(misuse_compiled_model_as_layers)
  auto model = tr::compile(strategy, layers, tr::Adam{}, tr::MeanSquaredError{});
  auto other = tr::compile(strategy, std::move(model), tr::Adam{}, tr::MeanSquaredError{});
#elif defined(misuse_callback_as_metric)
  auto model = tr::compile(strategy, layers, tr::Adam{}, tr::MeanSquaredError{}, tr::EarlyStopping<>{});
#elif defined(misuse_options_by_position)
  auto model = tr::compile(strategy, layers, tr::Adam{}, tr::MeanSquaredError{}, {.seed = 7});
#else
  auto model = tr::compile(strategy, layers, tr::Adam{}, tr::MeanSquaredError{}, tr::metrics::MeanAbsoluteError{});
  auto plain = tr::compile(strategy, layers, tr::Adam{}, tr::MeanSquaredError{}, tr::CompileOptions{.seed = 7});
#endif
}
