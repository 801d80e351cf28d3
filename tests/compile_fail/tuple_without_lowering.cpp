// expect: trireme: this layer cannot be compiled for a PJRT device where it takes a tuple of tensors
#include "trireme/layers/select.hpp"
#include "trireme/losses/mean_squared_error.hpp"
#include "trireme/models/tuples.hpp"
#include "trireme/optimizers/sgd.hpp"
#include "trireme/pjrt/lowering/model.hpp"

using namespace trireme;

/// The first part of a tuple, or a tensor itself.
struct First {
  static constexpr bool takes_parts = true;
  template <class In>
  constexpr auto output(In const& in) const {
    return part_of<0>(in);
  }
};

template <>
struct trireme::lowering::LayerLowering<First> {
  template <class T, class E>
  static auto forward(Trace<T>&, First const&, Value<T, E> const& x) {
    return Lowered{x, [](Trace<T>&, Value<T, E> const& dy) { return dy; }};
  }
};

int main() {
#ifdef TRIREME_MUST_FAIL
  Sequential const layers{Input<4>{}, Fork{Dense<2>{}, Skip{}}, First{}};
#else
  Sequential const layers{Input<4>{}, Fork{Dense<2>{}, Skip{}}, Select<0>{}, First{}};
#endif
  Model<float, std::decay_t<decltype(layers)>, SGD, MeanSquaredError> const model(layers, SGD{}, MeanSquaredError{}, 0);
  return lowering::ModelPrograms(model, 8, 1).train().text.empty() ? 1 : 0;
}
