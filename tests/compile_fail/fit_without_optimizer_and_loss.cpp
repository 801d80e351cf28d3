// expect: trireme: the model was compiled for inference; to train or evaluate it, give compile an optimizer and a loss
#include <vector>

#include "trireme/compile.hpp"
#include "trireme/data/from_tensor_slices.hpp"
#include "trireme/fit.hpp"
#include "trireme/layers/dense.hpp"
#include "trireme/losses/mean_squared_error.hpp"
#include "trireme/models/sequential.hpp"
#include "trireme/optimizers/sgd.hpp"
#include "trireme/strategies/data_parallel/one_device.hpp"

void train(std::vector<float> const& x, std::vector<float> const& y) {
  trireme::OneDeviceStrategy<> const strategy;
  trireme::Sequential const layers{trireme::Input<1>{}, trireme::Dense<1>{}};
#ifdef TRIREME_MUST_FAIL
  auto model = trireme::compile(strategy, layers);
#else
  auto model = trireme::compile(strategy, layers, trireme::SGD{}, trireme::MeanSquaredError{});
#endif
  trireme::fit(strategy, model, trireme::data::from_tensor_slices(x, y).batch(trireme::GlobalBatch{4}),
               trireme::FitOptions{});
}
