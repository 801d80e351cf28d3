// ranks: 1 2 3   labels: fault
// Children that a rank has forked leave fit by an exception, or the Environment by the end of its scope. They end at
// once, and the ranks go on.
#include "support/failing_fit.hpp"

#include <chrono>
#include <csignal>
#include <cstdint>
#include <string>
#include <thread>

#include <sys/wait.h>
#include <unistd.h>

#include <fmt/format.h>

#include "trireme/environment/environment.hpp"
#include "trireme/mpi/fault/status_record.hpp"
#include "trireme/strategies/data_parallel/multi_worker_mirrored.hpp"
#include "trireme/strategies/sharded/sharded.hpp"

using namespace trireme;

namespace {

struct ChildLeaves {};

constexpr int code_of_child = 7;

/// True if the child ends by itself with its own code.
bool ends_alone(pid_t child) {
  int status = 0;
  for (int wait = 0; wait < 500; ++wait) {
    if (::waitpid(child, &status, WNOHANG) == child) return WIFEXITED(status) && WEXITSTATUS(status) == code_of_child;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  ::kill(child, SIGKILL);
  ::waitpid(child, &status, 0);
  return false;
}

int faults = 0;

void require(bool holds, char const* what) {
  if (holds) return;
  ++faults;
  fmt::print(stderr, "{}\n", what);
}

/// This rank's record as others read it, which no child may change.
struct Record {
  std::uint64_t epoch = detail::status().epoch, step = detail::status().step, activity = detail::status().activity;
  detail::StatusRecord::State state = detail::status().state;
  bool operator==(Record const&) const = default;
};

/// Forks a child that leaves fit.
struct Forks {
  bool here;
  template <class Run>
  void on_train_batch_end(Run& run) const {
    if (!here || run.batch() != 2) return;
    Record const before;
    pid_t const child = ::fork();
    if (child == 0) throw ChildLeaves{};
    require(ends_alone(child), "a child that has left fit by an exception does not end");
    require(Record() == before, "a child has changed the record of a rank");
  }
};

bool is_child = false;

/// One of the ranks, and its children; they leave by an exception or by `return`.
void play(int argc, char** argv) {
  Environment const environment(argc, argv, {.threads = 2});
  Communicator const& world = environment.world();
  bool const here = world.rank() == world.size() - 1;
  test::ZeroSamples const samples{200};
  auto const data = samples.data().batch(GlobalBatch{20}).prefetch(2);
  MultiWorkerMirroredStrategy<> const strategy(world);
  auto model = test::classifier(strategy);
  fit(strategy, model, data, {.verbose = false}, Forks{here});
  ShardedStrategy<Kokkos::DefaultHostExecutionSpace, 2> const sharded(world);
  auto other = test::classifier(sharded);
  fit(sharded, other, data, {.verbose = false}, Forks{here});

  if (here) {
    pid_t child = ::fork();
    if (child == 0) {
      is_child = true;
      try {
        world.barrier();
      } catch (CommunicationError const& error) {
        if (std::string(error.what()).find("in a forked child of a rank") != std::string::npos) return;
      }
      ::_exit(9);
    }
    require(ends_alone(child), "a child that has left the Environment's scope does not end");
  }
  fit(strategy, model, data, {.verbose = false});
  require(!Kokkos::is_finalized() && !detail::mpi_is_finalized(), "a child has ended Kokkos or MPI");
}

}  // namespace

int main(int argc, char** argv) {
  try {
    play(argc, argv);
  } catch (ChildLeaves const&) {
    is_child = true;
  }
  return is_child ? code_of_child : faults;
}
