// expect: trireme: LocalSGD goes around a strategy that sums the gradients of a step over processes
#include "trireme/compile.hpp"
#include "trireme/layers/dense.hpp"
#include "trireme/losses/mean_squared_error.hpp"
#include "trireme/models/sequential.hpp"
#include "trireme/optimizers/sgd.hpp"
#include "trireme/strategies/data_parallel/local_sgd.hpp"
#include "trireme/strategies/data_parallel/multi_worker_mirrored.hpp"
#include "trireme/strategies/sharded/sharded.hpp"

using namespace trireme;

#ifdef TRIREME_MUST_FAIL
using Strategy = LocalSGD<ShardedStrategy<>, 4>;
#else
using Strategy = LocalSGD<MultiWorkerMirroredStrategy<>, 4>;
#endif

void build(Communicator const& world) {
  compile(Strategy(world), Sequential{Input<1>{}, Dense<1>{}}, SGD{}, MeanSquaredError{});
}
