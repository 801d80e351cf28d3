// ranks: 2 3   labels: fault   exit: error   says: has waited in MPI_Iallgather for 3.0 s: they do not call the same
#include <chrono>

#include "trireme/environment/environment.hpp"

int main(int argc, char** argv) {
  trireme::Environment environment(argc, argv, {.threads = 1, .deadline = std::chrono::seconds(3)});
  auto const& world = environment.world();
  auto const other = world.duplicate();
  if (world.rank() == 0)
    world.allgather(1);
  else
    other.barrier();
}
