// expect: trireme: a callback monitors a value that is neither the loss nor a metric of the model
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

void train(std::vector<float> const& x) {
  trireme::OneDeviceStrategy<> const strategy;
  auto model = trireme::compile(strategy, trireme::Sequential{trireme::Input<1>{}, trireme::Dense<1>{}}, trireme::SGD{},
                                trireme::MeanSquaredError{});
  auto const data = trireme::data::from_tensor_slices(x, x).batch(trireme::GlobalBatch{4});
#ifdef TRIREME_MUST_FAIL
  trireme::fit(strategy, model, data, {}, trireme::EarlyStopping<"val_loss">{});  // without validation data
#else
  trireme::fit(strategy, model, data, trireme::validation(data), {}, trireme::EarlyStopping<"val_loss">{});
#endif
}
