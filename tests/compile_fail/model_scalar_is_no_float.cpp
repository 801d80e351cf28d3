// expect: trireme: a model computes in float or double
#include "trireme/compile.hpp"
#include "trireme/layers/dense.hpp"
#include "trireme/losses/mean_squared_error.hpp"
#include "trireme/models/sequential.hpp"
#include "trireme/optimizers/sgd.hpp"
#include "trireme/strategies/data_parallel/one_device.hpp"

#ifdef TRIREME_MUST_FAIL
using T = int;
#else
using T = double;
#endif

void compile_model() {
  trireme::compile<T>(trireme::OneDeviceStrategy<>(), trireme::Sequential{trireme::Input<4>{}, trireme::Dense<3>{}},
                      trireme::SGD{}, trireme::MeanSquaredError{});
}
