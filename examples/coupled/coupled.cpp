// A simulation that trains while it runs: `mpiexec -n 3 coupled [STEPS [BACKUP_FOLDER [TRACE]]]`. In its first steps it
// computes an expensive reaction and a network learns it, from the simulation's own Views; then the network takes its
// place. With a folder it saves itself every 20 steps, and the same command goes on from there. A trace is a .csv file
// of the time of each step's sources and of the network's error, for which the reaction is computed in each step.
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <string>
#include <thread>

#include <fmt/format.h>
#include <trireme/trireme.hpp>

#include "backups.hpp"
#include "fluid.hpp"
#include "trace.hpp"

namespace tr = trireme;

constexpr std::size_t learned_steps = 60, epochs_a_step = 4, steps_a_backup = 20;

/// The largest difference between two sources, of this process.
double difference(fluid::Sources const& a, fluid::Sources const& b) {
  double largest = 0;
  Kokkos::parallel_reduce(
      "difference", Kokkos::RangePolicy<fluid::Space>(0, a.extent(0)),
      KOKKOS_LAMBDA(std::size_t i, double& most) { most = Kokkos::max(most, Kokkos::abs(a(i, 0) - b(i, 0))); },
      Kokkos::Max<double>(largest));
  return largest;
}

/// The simulation with its own loop, in a program that runs MPI and Kokkos.
void simulate(MPI_Comm communicator, std::size_t steps, std::string const& folder, std::string const& trace_path) {
  fluid::Fluid fluid(communicator, 400);
  fluid::Neighbourhoods const seen("seen", fluid.cells(), 3);
  fluid::Sources const sources("sources", fluid.cells(), 1), exact("exact", fluid.cells(), 1);

  tr::Environment const environment(communicator, {.deadline = std::chrono::minutes(2)});
  tr::MultiWorkerMirroredStrategy<fluid::Space> const strategy(environment.world());
  auto model = tr::compile<double>(
      strategy, tr::Sequential{tr::Input<3>{}, tr::Dense<32, tr::Tanh>{}, tr::Dense<32, tr::Tanh>{}, tr::Dense<1>{}},
      tr::Adam{.learning_rate = 5e-3}, tr::MeanSquaredError{});

  Backups backups(environment.world(), folder);
  std::size_t const start = folder.empty() ? 0 : backups.restore(fluid, model);
  Trace trace(environment.world(), trace_path);
  fluid::Sources const guessed("guessed", fluid.cells(), 1);
  auto const react = [&] { fluid.react(seen, exact); };
  auto const error = [&] {
    model.infer(seen, guessed);
    return environment.world().allreduce_max(difference(guessed, exact)).value();
  };
  double loss = 0;
  while (fluid.step() < steps) {
    fluid.look(seen);
    trace.begin();
    if (fluid.step() < learned_steps) {
      fluid.react(seen, sources);
      Kokkos::fence();
      auto const data = tr::data::from_local_slices(strategy, seen, sources).batch(tr::GlobalBatch{256});
      loss = tr::fit(strategy, model, data, {.epochs = epochs_a_step, .verbose = false})["loss"].back();
    } else {
      model.infer(seen, sources);
    }
    if (trace.is_open()) trace.end(fluid.step(), react, error);
    fluid.advance(seen, sources);
    if (fluid.step() % steps_a_backup == 0) backups.save(fluid, model);
  }

  fluid.look(seen);
  react();
  double const last_error = error(), total = fluid.total();
  if (environment.world().is_chief())
    fmt::print("steps {} to {}, loss {:.2e}, error {:.1e}, total {:.17g}\n", start, fluid.step(), loss, last_error,
               total);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  Kokkos::initialize(argc, argv);
  try {
    simulate(MPI_COMM_WORLD, argc > 1 ? std::strtoul(argv[1], nullptr, 10) : 100, argc > 2 ? argv[2] : "",
             argc > 3 ? argv[3] : "");
  } catch (std::exception const& e) {
    std::fprintf(stderr, "coupled: %s\n", e.what());
    std::this_thread::sleep_for(std::chrono::seconds(1));  // an abort loses what the launcher has not read yet
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  Kokkos::finalize();
  MPI_Finalize();
}
