// ranks: 2 3   labels: fault   exit: error   says: is stuck, in epoch 1 after step
#include "support/failing_fit.hpp"

#include <chrono>
#include <thread>

#include "trireme/environment/environment.hpp"
#include "trireme/strategies/parameter_server/parameter_server.hpp"

using namespace trireme;

/// Holds a batch and never comes back, while the others train on, and then wait for it.
struct Stuck {
  bool here;
  template <class Run>
  void on_train_batch_end(Run const& run) const {
    if (!here)  // leaves it some batches, however few cores there are
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    else if (run.step() > 5)
      std::this_thread::sleep_for(std::chrono::minutes(5));
  }
};

int main(int argc, char** argv) {
  Environment environment(argc, argv, {.threads = 1, .deadline = std::chrono::seconds(3)});
  ParameterServerStrategy<> const strategy(environment.world());
  test::ZeroSamples const samples{200};
  test::fit_classifier(strategy, samples.data().batch(GlobalBatch{2}), {.epochs = 3},
                       Stuck{strategy.group().is_chief()});
}
