// expect: trireme: a model of several outputs needs a loss for each of them
#include "trireme/compile.hpp"
#include "trireme/layers/dense.hpp"
#include "trireme/losses/mean_squared_error.hpp"
#include "trireme/models/sequential.hpp"
#include "trireme/models/tuples.hpp"
#include "trireme/optimizers/sgd.hpp"
#include "trireme/strategies/data_parallel/one_device.hpp"

using namespace trireme;

void compile_model() {
#ifdef TRIREME_MUST_FAIL
  MeanSquaredError const loss;
#else
  Outputs const loss{output<"a">(MeanSquaredError{}), output<"b">(MeanSquaredError{})};
#endif
  compile(OneDeviceStrategy<>(), Sequential{Input<3>{}, Fork{Dense<1>{}, Dense<2>{}}}, SGD{}, loss);
}
