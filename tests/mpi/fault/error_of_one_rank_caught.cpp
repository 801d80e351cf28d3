// ranks: 2   labels: fault   exit: error   says: a run is saved in on_save_point alone
// An error that the library throws as one of all ranks, in a call that a hook makes on one, is caught around fit.
#include "support/failing_fit.hpp"

#include <chrono>

#include "trireme/environment/environment.hpp"
#include "trireme/strategies/data_parallel/multi_worker_mirrored.hpp"

using namespace trireme;

int main(int argc, char** argv) {
  Environment environment(argc, argv, {.threads = 1, .patience = std::chrono::seconds(1)});
  auto const& world = environment.world();
  MultiWorkerMirroredStrategy<> const strategy(world);
  auto const saves = [](auto& run) { run.save("never.npz"); };
  test::catch_around([&] { test::fit_ten_batches(strategy, test::AfterThirdBatch{world.rank() == 0, saves}); });
}
