// ranks: 2 3   labels: fault   exit: 1   says: trireme: rank 0: the sensor of this worker is gone
#include "support/failing_fit.hpp"

#include <stdexcept>

#include "trireme/environment/environment.hpp"
#include "trireme/strategies/parameter_server/parameter_server.hpp"

using namespace trireme;

/// The others are acquiring batches, and know nothing of it.
struct Failing {
  bool fails;
  template <class Run>
  void on_train_batch_end(Run const& run) const {
    if (fails && run.step() > 5) throw std::runtime_error("the sensor of this worker is gone");
  }
};

int main(int argc, char** argv) {
  Environment environment(argc, argv);
  ParameterServerStrategy<> const strategy(environment.world());
  test::ZeroSamples const samples{2000};
  test::fit_classifier(strategy, samples.data().batch(GlobalBatch{2}), {.epochs = 3},
                       Failing{strategy.group().is_chief()});
}
