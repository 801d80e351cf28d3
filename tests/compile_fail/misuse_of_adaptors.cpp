// expect accumulate_around_sharded: trireme: Accumulate goes around a strategy that sums the gradients of a step
// expect accumulate_around_pipeline: trireme: Accumulate goes around a strategy that sums the gradients of a step
// expect accumulate_around_servers: trireme: Accumulate goes around a strategy that sums the gradients of a step
// expect accumulate_around_virtual_replicas: trireme: Accumulate goes around a strategy that sums the gradients of a
// expect compressed_around_devices: trireme: Compressed goes around a strategy of several processes
// expect compressed_around_accumulate: trireme: Compressed goes around a strategy that adds up whole gradients
// expect local_sgd_around_devices: trireme: LocalSGD goes around a strategy of several processes
// expect local_sgd_around_accumulate: trireme: LocalSGD goes around a strategy that sums the gradients of a step
// expect local_sgd_around_sharded: trireme: LocalSGD goes around a strategy that sums the gradients of a step
// expect virtual_replicas_around_accumulate: trireme: VirtualReplicas goes around OneDeviceStrategy
#include "trireme/compile.hpp"
#include "trireme/layers/dense.hpp"
#include "trireme/losses/mean_squared_error.hpp"
#include "trireme/models/sequential.hpp"
#include "trireme/optimizers/sgd.hpp"
#include "trireme/strategies/data_parallel/accumulate.hpp"
#include "trireme/strategies/data_parallel/compressed.hpp"
#include "trireme/strategies/data_parallel/local_sgd.hpp"
#include "trireme/strategies/data_parallel/mirrored.hpp"
#include "trireme/strategies/data_parallel/multi_worker_mirrored.hpp"
#include "trireme/strategies/data_parallel/virtual_replicas.hpp"
#include "trireme/strategies/parameter_server/parameter_server.hpp"
#include "trireme/strategies/pipeline/pipeline.hpp"
#include "trireme/strategies/sharded/sharded.hpp"

using namespace trireme;

namespace {

/// As MirroredStrategy of a device is, which not every machine can compile.
struct Devices : MirroredStrategy<> {
  using MirroredStrategy<>::MirroredStrategy;
  static constexpr bool joins_devices = true;
};
using Ranks = MultiWorkerMirroredStrategy<>;

void build(auto const& strategy) { compile(strategy, Sequential{Input<1>{}, Dense<1>{}}, SGD{}, MeanSquaredError{}); }

}  // namespace

void build_all([[maybe_unused]] Communicator const& world) {
#if defined(misuse_accumulate_around_sharded)
  build(Accumulate<ShardedStrategy<>, 2>(world));
#elif defined(misuse_accumulate_around_pipeline)
  build(Accumulate<PipelineStrategy<>, 2>(world));
#elif defined(misuse_accumulate_around_servers)
  build(Accumulate<ParameterServerStrategy<>, 2>(world));
#elif defined(misuse_accumulate_around_virtual_replicas)
  build(Accumulate<VirtualReplicas<Ranks, 4>, 2>(world));
#elif defined(misuse_compressed_around_devices)
  build(Compressed<Devices, BFloat16>(std::size_t{2}));
#elif defined(misuse_compressed_around_accumulate)
  build(Compressed<Accumulate<Ranks, 2>, BFloat16>(world));
#elif defined(misuse_local_sgd_around_devices)
  build(LocalSGD<Devices, 4>(std::size_t{2}));
#elif defined(misuse_local_sgd_around_accumulate)
  build(LocalSGD<Accumulate<Ranks, 2>, 4>(world));
#elif defined(misuse_local_sgd_around_sharded)
  build(LocalSGD<ShardedStrategy<>, 4>(world));
#elif defined(misuse_virtual_replicas_around_accumulate)
  build(VirtualReplicas<Accumulate<Ranks, 2>, 4>(world));
#else
  build(Compressed<MirroredStrategy<>, BFloat16>(std::size_t{2}));
  build(LocalSGD<MirroredStrategy<>, 4>(std::size_t{2}));
  build(Accumulate<Compressed<Ranks, BFloat16>, 2>(world));
  build(Accumulate<LocalSGD<Ranks, 4>, 2>(world));
  build(LocalSGD<Ranks, 4>(world));
  build(VirtualReplicas<Ranks, 4>(world));
#endif
}
