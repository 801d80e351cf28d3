// expect: trireme: a PJRT device takes a model that is made of layers and computes in one number type
#include "trireme/losses/mean_squared_error.hpp"
#include "trireme/models/mixed.hpp"
#include "trireme/optimizers/sgd.hpp"
#include "trireme/pjrt/lowering/model.hpp"

using namespace trireme;

int main() {
  Sequential const layers{Input<4>{}, Dense<3, ReLU>{}, Dense<2>{}};
  using InFloat = Model<float, std::decay_t<decltype(layers)>, SGD, MeanSquaredError>;
#ifdef TRIREME_MUST_FAIL
  MixedModel<InFloat, BFloat16> const model(layers, SGD{}, MeanSquaredError{}, 0);
#else
  InFloat const model(layers, SGD{}, MeanSquaredError{}, 0);
#endif
  return lowering::ModelPrograms(model, 8, 1).train().text.empty() ? 1 : 0;
}
