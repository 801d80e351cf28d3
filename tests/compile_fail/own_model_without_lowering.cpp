// expect: trireme: a PJRT device takes a model that is made of layers, no model of your own
#include "trireme/losses/mean_squared_error.hpp"
#include "trireme/models/own_model.hpp"
#include "trireme/optimizers/sgd.hpp"
#include "trireme/pjrt/lowering/model.hpp"

using namespace trireme;

int main() {
#ifdef TRIREME_MUST_FAIL
  OwnModel<float, SGD, MeanSquaredError> const model({.parameters = {{"slope", 1}}}, SGD{}, MeanSquaredError{});
#else
  Sequential const layers{Input<4>{}, Dense<3, ReLU>{}, Dense<2>{}};
  Model<float, std::decay_t<decltype(layers)>, SGD, MeanSquaredError> const model(layers, SGD{}, MeanSquaredError{}, 0);
#endif
  return lowering::ModelPrograms(model, 8, 1).train().text.empty() ? 1 : 0;
}
