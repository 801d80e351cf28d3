// ranks: 1 3   labels: fault   exit: 1   says: /checkpoint_is_named.weights.npz
#include <cstdint>
#include <vector>

#include "trireme/callbacks/model_checkpoint.hpp"
#include "trireme/compile.hpp"
#include "trireme/data/from_tensor_slices.hpp"
#include "trireme/environment/environment.hpp"
#include "trireme/fit.hpp"
#include "trireme/layers/dense.hpp"
#include "trireme/losses/sparse_categorical_crossentropy.hpp"
#include "trireme/models/sequential.hpp"
#include "trireme/optimizers/sgd.hpp"
#include "trireme/strategies/data_parallel/multi_worker_mirrored.hpp"
#include "trireme/tensor/xtensor.hpp"

namespace tr = trireme;

struct FailsInSecondEpoch {
  template <class Run>
  void on_train_batch_end(Run& run) {
    if (run.epoch() == 1 && run.step() == 3) throw tr::Error("the callback fails");
  }
};

int main(int argc, char** argv) {
  tr::Environment environment(argc, argv, {.threads = 1});
  tr::MultiWorkerMirroredStrategy<> const strategy(environment.world());
  xt::xtensor<float, 2> const x = xt::zeros<float>({20, 3});
  std::vector<std::int32_t> const y(20, 1);
  auto model = tr::compile(strategy, tr::Sequential{tr::Input<3>{}, tr::Dense<10>{}}, tr::SGD{},
                           tr::SparseCategoricalCrossentropy{.from_logits = true});
  tr::fit(strategy, model, tr::data::from_tensor_slices(x, y).batch(tr::GlobalBatch{10}),
          {.epochs = 3, .verbose = false}, tr::ModelCheckpoint<"loss">{.path = "checkpoint_is_named.weights.npz"},
          FailsInSecondEpoch{});
}
