// ranks: 2 3   labels: fault   exit: error   says: is stuck, outside of the library's calls since its MPI_Ibarrier, for
#include <chrono>
#include <thread>

#include "trireme/environment/environment.hpp"

int main(int argc, char** argv) {
  trireme::Environment environment(argc, argv, {.threads = 1, .deadline = std::chrono::seconds(3)});
  auto const& world = environment.world();
  world.barrier();
  if (world.rank() == 1) std::this_thread::sleep_for(std::chrono::minutes(5));
  world.barrier();
}
