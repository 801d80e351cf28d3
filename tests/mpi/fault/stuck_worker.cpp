// ranks: 2 3   labels: fault   exit: error   says: is stuck, in epoch 1 after step
#include <chrono>
#include <cstdint>
#include <thread>
#include <vector>

#include "trireme/trireme.hpp"

namespace tr = trireme;

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
  tr::Environment environment(argc, argv, {.threads = 1, .deadline = std::chrono::seconds(3)});
  tr::ParameterServerStrategy<> const strategy(environment.world());
  xt::xtensor<float, 2> const x = xt::zeros<float>({200, 3});
  std::vector<std::int32_t> const y(200, 1);
  auto model = tr::compile(strategy, tr::Sequential{tr::Input<3>{}, tr::Dense<10>{}}, tr::SGD{},
                           tr::SparseCategoricalCrossentropy{.from_logits = true});
  tr::fit(strategy, model, tr::data::from_tensor_slices(x, y).batch(tr::GlobalBatch{2}), {.epochs = 3},
          Stuck{strategy.group().is_chief()});
}
