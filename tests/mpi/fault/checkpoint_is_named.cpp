// ranks: 1 3   labels: fault   exit: 1   says: /checkpoint_is_named.weights.npz
#include "support/failing_fit.hpp"

#include "trireme/callbacks/model_checkpoint.hpp"
#include "trireme/environment/environment.hpp"
#include "trireme/strategies/data_parallel/multi_worker_mirrored.hpp"

using namespace trireme;

struct FailsInSecondEpoch {
  template <class Run>
  void on_train_batch_end(Run& run) {
    if (run.epoch() == 1 && run.step() == 3) throw Error("the callback fails");
  }
};

int main(int argc, char** argv) {
  Environment environment(argc, argv, {.threads = 1});
  MultiWorkerMirroredStrategy<> const strategy(environment.world());
  test::ZeroSamples const samples{20};
  test::fit_classifier(strategy, samples.data().batch(GlobalBatch{10}), {.epochs = 3, .verbose = false},
                       ModelCheckpoint<"loss">{.path = "checkpoint_is_named.weights.npz"}, FailsInSecondEpoch{});
}
