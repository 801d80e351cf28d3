// expect: trireme: Fork cannot be compiled for a PJRT device, since it has no LayerLowering
#include "trireme/layers/select.hpp"
#include "trireme/losses/mean_squared_error.hpp"
#include "trireme/models/tuples.hpp"
#include "trireme/optimizers/sgd.hpp"
#include "trireme/pjrt/lowering/model.hpp"

using namespace trireme;

int main() {
#ifdef TRIREME_MUST_FAIL
  Sequential const layers{Input<4>{}, Fork{Dense<2>{}}, Select<0>{}};
#else
  Sequential const layers{Input<4>{}, Sequential{Dense<4, ReLU>{}}, Dense<2>{}};
#endif
  Model<float, std::decay_t<decltype(layers)>, SGD, MeanSquaredError> const model(layers, SGD{}, MeanSquaredError{}, 0);
  return lowering::ModelPrograms(model, 8, 1).train().text.empty() ? 1 : 0;
}
