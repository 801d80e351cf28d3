// expect: trireme: Compressed goes around a strategy that adds up whole gradients
#include "trireme/compile.hpp"
#include "trireme/layers/dense.hpp"
#include "trireme/losses/mean_squared_error.hpp"
#include "trireme/models/sequential.hpp"
#include "trireme/optimizers/sgd.hpp"
#include "trireme/strategies/data_parallel/accumulate.hpp"
#include "trireme/strategies/data_parallel/compressed.hpp"
#include "trireme/strategies/data_parallel/multi_worker_mirrored.hpp"

using namespace trireme;

#ifdef TRIREME_MUST_FAIL
using Strategy = Compressed<Accumulate<MultiWorkerMirroredStrategy<>, 2>, BFloat16>;
#else
using Strategy = Accumulate<Compressed<MultiWorkerMirroredStrategy<>, BFloat16>, 2>;
#endif

void place(Communicator const& world) {
  compile(Strategy(world), Sequential{Input<1>{}, Dense<1>{}}, SGD{}, MeanSquaredError{});
}
