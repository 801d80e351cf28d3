// expect: trireme: a formula that branches on a number cannot be compiled for a PJRT device
#include "trireme/activations/elementwise.hpp"
#include "trireme/losses/mean_squared_error.hpp"
#include "trireme/optimizers/sgd.hpp"
#include "trireme/pjrt/lowering/model.hpp"

using namespace trireme;

struct Bent {
  template <class X>
  auto operator()(X x) const {
#ifdef TRIREME_MUST_FAIL
    return x > 0.0 ? x : X(0.0);
#else
    return math::where(x > 0.0, x, X(0.0));
#endif
  }
};

int main() {
  Sequential const layers{Input<4>{}, Dense<3, Elementwise<Bent>>{}, Dense<2>{}};
  Model<float, std::decay_t<decltype(layers)>, SGD, MeanSquaredError> const model(layers, SGD{}, MeanSquaredError{}, 0);
  return lowering::ModelPrograms(model, 8, 1).train().text.empty() ? 1 : 0;
}
