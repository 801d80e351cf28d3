// ranks: 1 2 3   labels: fault   exit: 0   says: all have ended
#include <chrono>
#include <cstdio>
#include <thread>

#include "trireme/environment/environment.hpp"

/// The deadline counts only while a call waits, and not at the end while others still get on.
int main(int argc, char** argv) {
  using namespace std::chrono_literals;
  trireme::Environment environment(argc, argv, {.threads = 1, .deadline = 1s});
  auto const& world = environment.world();
  std::this_thread::sleep_for(3s);
  world.barrier();
  if (world.rank() + 1 == world.size()) {
    for (std::size_t step = 0; step < 25; ++step) {
      std::this_thread::sleep_for(200ms);
      trireme::detail::status().at(0, step);
    }
    std::puts("all have ended");
  }
}
