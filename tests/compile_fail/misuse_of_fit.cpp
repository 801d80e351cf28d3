// expect options_forgotten: trireme: fit takes options behind the data
// expect options_forgotten_without_callbacks: trireme: fit takes options behind the data
// expect batches_forgotten: trireme: fit, evaluate and predict take samples in batches
// expect arrays: trireme: fit, evaluate and predict take a dataset, not arrays
// expect arrays_and_targets: trireme: fit, evaluate and predict take a dataset, not arrays
// expect arrays_and_callback: trireme: fit, evaluate and predict take a dataset, not arrays
// expect validation_forgotten: trireme: data behind the first are for validation, and marked as such
// expect validation_behind_options: trireme: validation data stand before the options
// expect validation_marked_behind_options: trireme: validation data stand before the options
// expect validation_without_batches: trireme: fit, evaluate and predict take samples in batches
// expect callbacks_before_options: trireme: fit takes options behind the data and before the callbacks
// expect callbacks_before_options_and_behind_validation: trireme: fit takes options behind the data and before
// expect const_model: trireme: fit, evaluate and predict take the model as a variable that is not const
// expect const_callback: trireme: a callback whose hooks change it must not be const
// expect temporary_model: trireme: fit, evaluate and predict take the model as a variable
// expect model_not_compiled: trireme: fit, evaluate and predict take a model that compile(strategy, ...) returned
// expect strategy_forgotten: trireme: fit, evaluate and predict take the strategy before the model
// expect strategy_forgotten_with_arrays: trireme: fit, evaluate and predict take the strategy before the model
// expect strategy_behind_model: trireme: fit, evaluate and predict take the strategy before the model
// expect execution_space: trireme: an execution space stands where a strategy belongs
// expect dataset_before_model: trireme: fit, evaluate and predict take a model that compile(strategy, ...) returned
// expect loss_as_callback: trireme: a callback needs at least one hook
// expect copied_model: trireme: a compiled model is moved, not copied
// expect copied_model_by_value: trireme: a compiled model is moved, not copied
#include <cstdint>
#include <vector>

#include "trireme/callbacks/early_stopping.hpp"
#include "trireme/compile.hpp"
#include "trireme/data/from_tensor_slices.hpp"
#include "trireme/fit.hpp"
#include "trireme/layers/dense.hpp"
#include "trireme/losses/mean_squared_error.hpp"
#include "trireme/models/sequential.hpp"
#include "trireme/optimizers/sgd.hpp"
#include "trireme/strategies/data_parallel/one_device.hpp"

namespace tr = trireme;

template <class Model>
void takes_by_value(Model) {}

void train(std::vector<float> const& x, std::vector<float> const& y) {
  tr::OneDeviceStrategy<> const strategy;
  tr::Sequential const layers{tr::Input<1>{}, tr::Dense<1>{}};
  auto model = tr::compile(strategy, layers, tr::SGD{}, tr::MeanSquaredError{});
  auto const samples = tr::data::from_tensor_slices(x, y);
  auto const data = samples.batch(tr::GlobalBatch{4});
  tr::EarlyStopping<"loss"> stop{.patience = 2};
#if defined(misuse_options_forgotten)
  tr::fit(strategy, model, data, stop);
#elif defined(misuse_options_forgotten_without_callbacks)
  tr::fit(strategy, model, data);
#elif defined(misuse_batches_forgotten)
  tr::fit(strategy, model, samples, {.epochs = 2});
#elif defined(misuse_arrays)
  tr::fit(strategy, model, x, {.epochs = 2});
#elif defined(misuse_arrays_and_targets)
  tr::fit(strategy, model, x, y, {.epochs = 2});
#elif defined(misuse_arrays_and_callback)
  tr::fit(strategy, model, x, y, {.epochs = 2}, stop);
#elif defined(misuse_validation_forgotten)
  tr::fit(strategy, model, data, data, {.epochs = 2}, stop);
#elif defined(misuse_validation_behind_options)
  tr::fit(strategy, model, data, {.epochs = 2}, data);
#elif defined(misuse_validation_marked_behind_options)
  tr::fit(strategy, model, data, {.epochs = 2}, tr::validation(data));
#elif defined(misuse_validation_without_batches)
  tr::fit(strategy, model, data, tr::validation(samples), {.epochs = 2});
#elif defined(misuse_callbacks_before_options)
  tr::fit(strategy, model, data, stop, {.epochs = 2});
#elif defined(misuse_callbacks_before_options_and_behind_validation)
  tr::fit(strategy, model, data, tr::validation(data), stop, {.epochs = 2});
#elif defined(misuse_const_model)
  auto const& fixed = model;
  tr::fit(strategy, fixed, data, {.epochs = 2});
#elif defined(misuse_const_callback)
  tr::EarlyStopping<"loss"> const fixed{.patience = 2};
  tr::fit(strategy, model, data, {.epochs = 2}, fixed);
#elif defined(misuse_temporary_model)
  tr::fit(strategy, tr::compile(strategy, layers, tr::SGD{}, tr::MeanSquaredError{}), data, {.epochs = 2});
#elif defined(misuse_model_not_compiled)
  tr::fit(strategy, layers, data, {.epochs = 2});
#elif defined(misuse_strategy_forgotten)
  tr::fit(model, data, {.epochs = 2});
#elif defined(misuse_strategy_forgotten_with_arrays)
  tr::fit(model, x, y, {.epochs = 2});
#elif defined(misuse_strategy_behind_model)
  tr::fit(model, strategy, data, {.epochs = 2});
#elif defined(misuse_execution_space)
  tr::fit(Kokkos::DefaultHostExecutionSpace{}, model, data, {.epochs = 2});
#elif defined(misuse_dataset_before_model)
  tr::fit(strategy, data, model, {.epochs = 2});
#elif defined(misuse_loss_as_callback)
  tr::fit(strategy, model, data, {.epochs = 2}, tr::MeanSquaredError{});
#elif defined(misuse_copied_model)
  auto copy = model;
  tr::fit(strategy, copy, data, {.epochs = 2});
#elif defined(misuse_copied_model_by_value)
  takes_by_value(model);
#else
  tr::fit(strategy, model, data, {.epochs = 2});
  tr::fit(strategy, model, data, {.epochs = 2}, stop);
  tr::fit(strategy, model, data, tr::validation(data), {}, stop);
  auto& same = model;
  tr::fit(strategy, same, samples.batch(tr::GlobalBatch{4}), {}, tr::EarlyStopping<"loss">{});
  takes_by_value(std::move(model));
#endif
}
