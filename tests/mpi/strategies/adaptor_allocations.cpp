// ranks: 1 2 3
// A steady step under an adaptor allocates nothing either.
#define BOOST_TEST_MODULE adaptor_allocations
#include "support/kokkos_fixture.hpp"
#include "support/small_training.hpp"
#include "support/steady_steps.hpp"

#include <initializer_list>

#include "trireme/layers/batch_normalization.hpp"
#include "trireme/optimizers/sgd.hpp"
#include "trireme/strategies/data_parallel/accumulate.hpp"
#include "trireme/strategies/data_parallel/compressed.hpp"
#include "trireme/strategies/data_parallel/multi_worker_mirrored.hpp"
#include "trireme/strategies/data_parallel/virtual_replicas.hpp"

using namespace trireme;

namespace {

template <class Strategy>
void check(Strategy const& strategy,
           std::initializer_list<Parallelism> plans = {Parallelism::samples, Parallelism::intra_op}) {
  auto const samples = test::mlp_samples<float>(61), others = test::mlp_samples<float>(27, 2);
  auto const architecture = Sequential{Input<test::mlp_inputs>{}, Dense<9, NoBias>{}, SyncBatchNormalization<>{},
                                       Dropout{.rate = 0.25f}, Dense<test::classes>{}};
  test::check_steady(strategy, architecture, SGD{.learning_rate = 0.1, .global_clipnorm = 0.1},
                     samples.data().shuffle(61, 7).batch(GlobalBatch{5}), others.data().batch(GlobalBatch{4}), false,
                     {.epochs = 3, .verbose = false}, plans);
}

Communicator const& world() { return test::environment().world(); }

}  // namespace

BOOST_AUTO_TEST_CASE(a_step_in_pieces_allocates_nothing) {
  check(Accumulate<MultiWorkerMirroredStrategy<>, 3>(world()));
}

BOOST_AUTO_TEST_CASE(a_compressed_step_allocates_nothing) {
  check(Compressed<MultiWorkerMirroredStrategy<>, BFloat16>(world()));
  check(Compressed(MultiWorkerMirroredStrategy<>(world()), TopK{.fraction = 0.1}));
}

BOOST_AUTO_TEST_CASE(a_step_in_shards_allocates_nothing) {
  check(VirtualReplicas<MultiWorkerMirroredStrategy<>, 4>(world()), {Parallelism::samples});
}
