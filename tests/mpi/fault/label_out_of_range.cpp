// ranks: 1 3   labels: fault   exit: 1   says: trireme: label 12 at index 7 of labels.csv
#include "support/failing_fit.hpp"

#include "trireme/environment/environment.hpp"
#include "trireme/strategies/data_parallel/multi_worker_mirrored.hpp"

using namespace trireme;

int main(int argc, char** argv) {
  Environment environment(argc, argv);
  MultiWorkerMirroredStrategy<> const strategy(environment.world());
  test::ZeroSamples samples{20};
  samples.y[7] = 12;  // of 3 ranks, the second one trains on it
  test::fit_classifier(strategy, samples.data().named("labels.csv").batch(GlobalBatch{20}), {.epochs = 1});
}
