// ranks: 2 3   labels: fault   exit: error   says: waits in MPI_I ... has waited in MPI_I ... s: they do not call the
// same
#include <chrono>
#include <thread>

#include "trireme/environment/environment.hpp"

int main(int argc, char** argv) {
  trireme::Environment environment(argc, argv, {.threads = 1, .deadline = std::chrono::seconds(3)});
  auto const& world = environment.world();
  auto const duplicate = world.duplicate();
  if (world.rank() != 0) {
    duplicate.barrier();
    return 0;
  }
  // Whichever rank reports, all others are in their calls then, also where one has hardly a core.
  for (auto const* other : trireme::detail::RankRegistry::current()->others())
    while (other->waiting == 0 || other->call_name() != "MPI_Ibarrier")
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
  world.allgather(1);
}
