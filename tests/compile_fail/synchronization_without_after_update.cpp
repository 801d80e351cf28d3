// expect: trireme: a synchronization with local_steps needs after_update(weights) and at_epoch_end(weights)
#include "trireme/compile.hpp"
#include "trireme/layers/dense.hpp"
#include "trireme/losses/mean_squared_error.hpp"
#include "trireme/models/sequential.hpp"
#include "trireme/optimizers/sgd.hpp"
#include "trireme/strategies/data_parallel/one_device.hpp"

using namespace trireme;
using Space = Kokkos::DefaultExecutionSpace;

struct Own {
  static constexpr bool local_steps = true;
  Own(SingleProcess const&, Space const&, ModelDescription const&) {}
#ifndef TRIREME_MUST_FAIL
  void after_update(LocalWeights<float, Space> const&) {}
#endif
  void at_epoch_end(LocalWeights<float, Space> const&) {}
  std::string placement() const { return {}; }
};

struct Strategy {
  using Space = ::Space;
  template <class Model>
  using Engine = DataParallel<Model, Space, SingleProcess, Own>;
  OneDeviceStrategy<> one{};
  SingleProcess const& group() const { return one.group(); }
  template <class Model>
  Engine<Model> build(Model model, Parallelism parallelism) const {
    return one.build_as<Engine<Model>>(std::move(model), parallelism);
  }
};

void build() { compile(Strategy(), Sequential{Input<1>{}, Dense<1>{}}, SGD{}, MeanSquaredError{}); }
