// expect no_lowering: trireme: a PJRT device takes a model that is made of layers, or one of your own
// expect own_memory: trireme: a PJRT device keeps parameters in its own memory
#include <span>

#include "trireme/losses/mean_squared_error.hpp"
#include "trireme/models/own_model.hpp"
#include "trireme/optimizers/sgd.hpp"
#include "trireme/pjrt/lowering/model.hpp"

using namespace trireme;

/// The mean of its inputs.
struct Mean : OwnModel<float, SGD, MeanSquaredError> {
  Mean() : OwnModel({.inputs = 2}, SGD{}, MeanSquaredError{}) {}
  void initialize(std::span<float>) const {}
};
struct InOwnMemory : Mean {
  float* parameter_view() const { return nullptr; }
};

#ifndef misuse_no_lowering
template <class M>
  requires std::is_base_of_v<Mean, M>
struct trireme::lowering::ModelLowering<M> {
  template <class T, class E>
  static auto forward(Trace<T>& trace, M const&, Value<T, E> const& x) {
    Builder& b = trace.builder();
    Extents<dynamic, dynamic> const out{{x.extents[0], 1}};
    auto const y = b.scale(b.reshape(b.sum_back(x), out), T{0.5});
    return Lowered{y, [x](Trace<T>& back, auto const& dy) { return back.builder().constant_like(T{0}, x); }};
  }
};
#endif

int main() {
#if defined(misuse_own_memory)
  InOwnMemory const model;
#else
  Mean const model;
#endif
  return lowering::ModelPrograms(model, 8, 1).predict().text.empty() ? 1 : 0;
}
