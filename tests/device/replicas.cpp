// ranks: 2 3
// Replicas on devices train as one host does: rows of the table in support/law_table.hpp.
#define BOOST_TEST_MODULE device_replicas
#include "support/device.hpp"

#include "support/law_table.hpp"

#include "trireme/strategies/data_parallel/accumulate.hpp"
#include "trireme/strategies/data_parallel/mirrored.hpp"
#include "trireme/strategies/data_parallel/multi_worker_mirrored.hpp"
#include "trireme/strategies/data_parallel/virtual_replicas.hpp"

using namespace trireme;
using namespace trireme::test::law;

namespace {

using Workers = MultiWorkerMirroredStrategy<test::Device>;

/// Not the default instance, whose queue Kokkos uses where a call names no space.
test::Device device() { return test::device(1 + world().rank()); }

}  // namespace

BOOST_AUTO_TEST_CASE(mirrored) {
  check_row<Mlp, Normalization>("Mirrored", MirroredStrategy<test::Device>(world().size() + 1, device()));
}

BOOST_AUTO_TEST_CASE(multi_worker_mirrored) {
  check_row<Mlp, Normalization>("MultiWorkerMirrored", Workers(world(), device()));
  check_row<Mlp, Normalization, Attention>("MultiWorkerMirrored with messages",
                                           Workers(world(), device(), 256, Exchange::messages));
}

BOOST_AUTO_TEST_CASE(virtual_replicas) {
  check_row<Mlp>("VirtualReplicas", VirtualReplicas<Workers, 5>(world(), device()));
}

BOOST_AUTO_TEST_CASE(accumulate) { check_row<Mlp>("Accumulate", Accumulate<Workers, 3>(world(), device())); }
