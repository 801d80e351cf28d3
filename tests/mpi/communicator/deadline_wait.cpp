// ranks: 2 3
#define BOOST_TEST_MODULE deadline_wait
#include "support/kokkos_fixture.hpp"
#include "support/starvation.hpp"

#include <chrono>
#include <cstddef>
#include <thread>

#include <sys/syscall.h>
#include <unistd.h>

#include "trireme/mpi/communicator.hpp"

using namespace trireme;

// A rank that yields to a process which never rests would not leave its core, however long it waits.
BOOST_AUTO_TEST_CASE(ranks_that_wait_for_messages_sleep_where_another_process_takes_their_core) {
  Communicator const& world = test::environment().world();
  auto const processes = world.allgather(static_cast<long>(syscall(SYS_gettid)));
  test::OneProcessor const one(world.is_chief() ? 1 : 0);
  auto const before = world.allgather(test::sleeps_of(processes[world.rank()]));
  if (world.is_chief()) {
    auto const gives_up = std::chrono::steady_clock::now() + std::chrono::minutes(1);
    for (std::size_t rank = 1; rank < world.size(); ++rank)
      while (test::sleeps_of(processes[rank]) - before[rank] < 20 && std::chrono::steady_clock::now() < gives_up)
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    BOOST_TEST((std::chrono::steady_clock::now() < gives_up));
  }
  world.barrier();
}
