// expect: trireme: work for the chief alone may not reach a communicator
#include <string>

#include "trireme/mpi/communicator.hpp"

void write(trireme::Communicator const& world, std::string const& text) {
#ifdef TRIREME_MUST_FAIL
  world.on_chief(
      [](trireme::ChiefScope const&, trireme::Communicator const& all, std::string const&) { all.barrier(); }, world,
      text);
#else
  world.on_chief([](trireme::ChiefScope const&, std::string const&) {}, text);
#endif
}
