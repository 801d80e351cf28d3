// expect of_one_type: trireme: 'counts' of this loss cannot be compiled for a PJRT device, since it is no template
// expect bool_result: trireme: 'counts' of this loss cannot be compiled for a PJRT device, since it is no template
#include "trireme/losses/targets.hpp"
#include "trireme/optimizers/sgd.hpp"
#include "trireme/pjrt/lowering/model.hpp"

using namespace trireme;

/// The squared error of samples whose target is not negative.
struct SquareOfKnown {
  static constexpr FixedString name = "square_of_known";
  using target = DenseTarget;
  static constexpr auto outputs = LossOutputs::mean;

#if defined(misuse_of_one_type)
  bool counts(float const* truth) const { return truth[0] >= 0; }
#elif defined(misuse_bool_result)
  template <class T>
  bool counts(T const* truth) const {
    return truth[0] >= T(0);
  }
#else
  template <class T>
  auto counts(T const* truth) const {
    return truth[0] >= T(0);
  }
#endif
  template <class T>
  T operator()(T const* prediction, T const* truth, std::size_t, T scale, T* gradient) const {
    T const error = math::where(truth[0] < T(0), T(0), prediction[0] - truth[0]);
    if (gradient) gradient[0] = scale * T(2) * error;
    return error * error;
  }
};

int main() {
  Sequential const layers{Input<4>{}, Dense<1>{}};
  Model<float, std::decay_t<decltype(layers)>, SGD, SquareOfKnown> const model(layers, SGD{}, SquareOfKnown{}, 0);
  return lowering::ModelPrograms(model, 8, 1).train().text.empty() ? 1 : 0;
}
