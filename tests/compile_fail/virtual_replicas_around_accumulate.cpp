// expect: trireme: VirtualReplicas goes around OneDeviceStrategy
#include "trireme/compile.hpp"
#include "trireme/layers/dense.hpp"
#include "trireme/losses/mean_squared_error.hpp"
#include "trireme/models/sequential.hpp"
#include "trireme/optimizers/sgd.hpp"
#include "trireme/strategies/data_parallel/accumulate.hpp"
#include "trireme/strategies/data_parallel/multi_worker_mirrored.hpp"
#include "trireme/strategies/data_parallel/virtual_replicas.hpp"

using namespace trireme;

#ifdef TRIREME_MUST_FAIL
using Strategy = VirtualReplicas<Accumulate<MultiWorkerMirroredStrategy<>, 2>, 4>;
#else
using Strategy = VirtualReplicas<MultiWorkerMirroredStrategy<>, 4>;
#endif

void place(Communicator const& world) {
  compile(Strategy(world), Sequential{Input<1>{}, Dense<1>{}}, SGD{}, MeanSquaredError{});
}
