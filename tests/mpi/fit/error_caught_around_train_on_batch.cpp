// ranks: 2 3   labels: fault   exit: error   says: these rows are refused
// One rank catches an error of a layer around train_on_batch and goes on alone; the others are still in train_on_batch.
#include "support/failing_fit.hpp"
#include "support/refusing_layer.hpp"

#include <chrono>

#include "trireme/environment/environment.hpp"
#include "trireme/strategies/data_parallel/multi_worker_mirrored.hpp"

using namespace trireme;

int main(int argc, char** argv) {
  Environment environment(argc, argv, {.threads = 1, .patience = std::chrono::seconds(1)});
  auto const& world = environment.world();
  MultiWorkerMirroredStrategy<> const strategy(world);
  auto model = compile(strategy, Sequential{Input<3>{}, Dense<10>{}, test::Refusing{}}, SGD{},
                       SparseCategoricalCrossentropy{.from_logits = true});
  test::ZeroSamples const samples{20};
  if (world.rank() + 1 == world.size()) test::refuses = test::Refuses::forward;
  test::catch_around([&] { model.train_on_batch(samples.x, samples.y); });
}
