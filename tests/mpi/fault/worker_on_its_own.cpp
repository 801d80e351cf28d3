// ranks: 2 3   labels: fault   exit: 1   says: trireme: rank 0: the sensor of this worker is gone
#include <cstdint>
#include <stdexcept>
#include <vector>

#include "trireme/trireme.hpp"

namespace tr = trireme;

/// The others are acquiring batches, and know nothing of it.
struct Failing {
  bool fails;
  template <class Run>
  void on_train_batch_end(Run const& run) const {
    if (fails && run.step() > 5) throw std::runtime_error("the sensor of this worker is gone");
  }
};

int main(int argc, char** argv) {
  tr::Environment environment(argc, argv);
  tr::ParameterServerStrategy<> const strategy(environment.world());
  xt::xtensor<float, 2> const x = xt::zeros<float>({2000, 3});
  std::vector<std::int32_t> const y(2000, 1);
  auto model = tr::compile(strategy, tr::Sequential{tr::Input<3>{}, tr::Dense<10>{}}, tr::SGD{},
                           tr::SparseCategoricalCrossentropy{.from_logits = true});
  tr::fit(strategy, model, tr::data::from_tensor_slices(x, y).batch(tr::GlobalBatch{2}), {.epochs = 3},
          Failing{strategy.group().is_chief()});
}
