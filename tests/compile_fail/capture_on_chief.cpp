// expect: trireme: work for the chief alone may not reach a communicator
#include "trireme/mpi/communicator.hpp"

void meet(trireme::Communicator const& world) {
#ifdef TRIREME_MUST_FAIL
  world.on_chief([&world](trireme::ChiefScope const&) { world.barrier(); });
#else
  world.on_chief([](trireme::ChiefScope const&) {});
#endif
}
