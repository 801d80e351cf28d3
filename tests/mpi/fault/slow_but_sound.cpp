// ranks: 1 2 3   labels: fault   exit: 0   says: all have ended
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <thread>
#include <vector>

#include "trireme/environment/environment.hpp"

/// The deadline counts only while a call waits, and not at the end while others still get on.
int main(int argc, char** argv) {
  using namespace std::chrono_literals;
  trireme::Environment environment(argc, argv, {.threads = 1, .deadline = 4s});
  auto const& world = environment.world();
  std::this_thread::sleep_for(5s);
  world.barrier();
  if (world.rank() + 1 == world.size()) {
    // A rank that waits at the end is active whenever it begins to count anew, after a quarter of the deadline. So many
    // times are longer than the deadline, and steps far shorter than a quarter, however few cores there are.
    constexpr std::uint64_t enough = 8;
    auto const& others = trireme::detail::RankRegistry::current()->others();
    std::vector<std::uint64_t> starts;
    for (auto const* other : others) starts.push_back(other->activity);
    std::size_t step = 0;
    for (std::size_t i = 0; i < others.size(); ++i)
      for (; others[i]->activity < starts[i] + enough; ++step) {
        std::this_thread::sleep_for(20ms);
        trireme::detail::status().at(0, step);
      }
    std::puts("all have ended");
  }
}
