// expect: trireme: the model was compiled for another strategy
#include <vector>

#include "trireme/compile.hpp"
#include "trireme/data/from_tensor_slices.hpp"
#include "trireme/fit.hpp"
#include "trireme/layers/dense.hpp"
#include "trireme/losses/mean_squared_error.hpp"
#include "trireme/models/sequential.hpp"
#include "trireme/optimizers/sgd.hpp"
#include "trireme/strategies/data_parallel/mirrored.hpp"
#include "trireme/strategies/data_parallel/one_device.hpp"

void train(std::vector<float> const& x) {
  trireme::OneDeviceStrategy<> const strategy;
#ifdef TRIREME_MUST_FAIL
  trireme::MirroredStrategy<> const other(2);
#else
  auto const& other = strategy;
#endif
  auto model = trireme::compile(strategy, trireme::Sequential{trireme::Input<1>{}, trireme::Dense<1>{}}, trireme::SGD{},
                                trireme::MeanSquaredError{});
  trireme::fit(other, model, trireme::data::from_tensor_slices(x, x).batch(trireme::GlobalBatch{4}), {});
}
