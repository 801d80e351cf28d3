// expect: trireme: a model begins with an Input that says the extents of a sample
#include "trireme/compile.hpp"
#include "trireme/layers/dense.hpp"
#include "trireme/losses/mean_squared_error.hpp"
#include "trireme/models/sequential.hpp"
#include "trireme/optimizers/sgd.hpp"
#include "trireme/strategies/data_parallel/one_device.hpp"

void compile_model() {
#ifdef TRIREME_MUST_FAIL
  trireme::Sequential const layers{trireme::Dense<3>{}};
#else
  trireme::Sequential const layers{trireme::Input<4>{}, trireme::Dense<3>{}};
#endif
  trireme::compile(trireme::OneDeviceStrategy<>(), layers, trireme::SGD{}, trireme::MeanSquaredError{});
}
