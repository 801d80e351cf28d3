// ranks: 2 3   labels: fault   exit: error   says: no more
// One rank catches an error of its hook around predict and goes on alone; the others are still in predict.
#include "support/failing_fit.hpp"

#include <chrono>

#include "trireme/environment/environment.hpp"
#include "trireme/strategies/data_parallel/multi_worker_mirrored.hpp"

using namespace trireme;

int main(int argc, char** argv) {
  Environment environment(argc, argv, {.threads = 1, .patience = std::chrono::seconds(1)});
  auto const& world = environment.world();
  MultiWorkerMirroredStrategy<> const strategy(world);
  auto model = test::classifier(strategy);
  test::ZeroSamples const samples{200};
  test::catch_around([&] {
    predict(strategy, model, samples.data().batch(GlobalBatch{20}),
            test::AfterThirdBatch{world.rank() + 1 == world.size(), test::fails});
  });
}
