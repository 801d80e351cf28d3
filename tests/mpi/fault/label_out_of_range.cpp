// ranks: 1 3   labels: fault   exit: 1   says: trireme: label 12 at index 7 of labels.csv
#include <cstdint>
#include <vector>

#include "trireme/trireme.hpp"

namespace tr = trireme;

int main(int argc, char** argv) {
  tr::Environment environment(argc, argv);
  tr::MultiWorkerMirroredStrategy<> const strategy(environment.world());
  xt::xtensor<float, 2> const x = xt::zeros<float>({20, 3});
  std::vector<std::int32_t> y(20, 1);
  y[7] = 12;  // of 3 ranks, the second one trains on it
  auto const data = tr::data::from_tensor_slices(x, y).named("labels.csv").batch(tr::GlobalBatch{20});
  auto model = tr::compile(strategy, tr::Sequential{tr::Input<3>{}, tr::Dense<10>{}}, tr::SGD{},
                           tr::SparseCategoricalCrossentropy{.from_logits = true});
  tr::fit(strategy, model, data, {.epochs = 1});
}
