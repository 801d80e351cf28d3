// expect: trireme: this layer cannot be compiled for a PJRT device, since it has no LayerLowering
#include "trireme/layers/copy.hpp"
#include "trireme/losses/mean_squared_error.hpp"
#include "trireme/optimizers/sgd.hpp"
#include "trireme/pjrt/lowering/model.hpp"

using namespace trireme;

/// A user's own layer, for the kernels alone.
struct Own {
  template <class In>
  constexpr auto output(In const& in) const {
    return in;
  }
  template <class Context, class In, class T>
  void forward(Context& context, In const& in, Forward<T> const& f) const {
    kernels::copy(context, f.rows * in.size(), f.x, f.y);
  }
  template <class Context, class In, class T>
  void backward(Context& context, In const& in, Backward<T> const& b) const {
    if (b.dx) kernels::copy(context, b.rows * in.size(), static_cast<T const*>(b.dy), b.dx);
  }
};

int main() {
#ifdef TRIREME_MUST_FAIL
  Sequential const layers{Input<4>{}, Dense<3, ReLU>{}, Own{}, Dense<2>{}};
#else
  Sequential const layers{Input<4>{}, Dense<3, ReLU>{}, Dense<2>{}};
#endif
  Model<float, std::decay_t<decltype(layers)>, SGD, MeanSquaredError> const model(layers, SGD{}, MeanSquaredError{}, 0);
  return lowering::ModelPrograms(model, 8, 1).train().text.empty() ? 1 : 0;
}
