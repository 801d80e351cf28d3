// expect: trireme: work for the chief alone may not reach a communicator
#include <vector>

#include "trireme/callbacks/lambda_callback.hpp"
#include "trireme/compile.hpp"
#include "trireme/data/from_tensor_slices.hpp"
#include "trireme/fit.hpp"
#include "trireme/layers/dense.hpp"
#include "trireme/losses/mean_squared_error.hpp"
#include "trireme/models/sequential.hpp"
#include "trireme/optimizers/sgd.hpp"
#include "trireme/strategies/data_parallel/multi_worker_mirrored.hpp"

struct Prints {
  template <class Run>
  void on_epoch_end(Run& run) {
#ifdef TRIREME_MUST_FAIL
    run.on_chief([&run](trireme::ChiefScope const&) { run.loss(); });
#else
    run.on_chief([](trireme::ChiefScope const&, double) {}, run.loss().value());
#endif
  }
};

void train(trireme::Communicator const& world, std::vector<float> const& x) {
  trireme::MultiWorkerMirroredStrategy<> const strategy(world);
  auto model = trireme::compile(strategy, trireme::Sequential{trireme::Input<1>{}, trireme::Dense<1>{}}, trireme::SGD{},
                                trireme::MeanSquaredError{});
  trireme::fit(strategy, model, trireme::data::from_tensor_slices(x, x).batch(trireme::GlobalBatch{4}), {}, Prints{});
}
