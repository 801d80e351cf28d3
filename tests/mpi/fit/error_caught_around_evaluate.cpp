// ranks: 2 3   labels: fault   exit: error   says: no more, in epoch 1 after step 0; no checkpoint was written
// One rank catches an error of its hook around evaluate and goes on alone; the others are still in evaluate.
#include <chrono>
#include <cstdint>
#include <stdexcept>
#include <thread>
#include <vector>

#include "trireme/trireme.hpp"

namespace tr = trireme;

struct Fails {
  bool here;
  template <class Run>
  void on_test_batch_end(Run const& run) const {
    if (here && run.batch() == 2) throw std::runtime_error("no more");
  }
};

int main(int argc, char** argv) {
  tr::Environment environment(argc, argv, {.threads = 1, .patience = std::chrono::seconds(1)});
  auto const& world = environment.world();
  tr::MultiWorkerMirroredStrategy<> const strategy(world);
  xt::xtensor<float, 2> const x = xt::zeros<float>({200, 3});
  std::vector<std::int32_t> const y(200, 1);
  auto model = tr::compile(strategy, tr::Sequential{tr::Input<3>{}, tr::Dense<10>{}}, tr::SGD{},
                           tr::SparseCategoricalCrossentropy{.from_logits = true});
  auto const data = tr::data::from_tensor_slices(x, y).batch(tr::GlobalBatch{20});
  try {
    tr::evaluate(strategy, model, data, {}, Fails{world.rank() + 1 == world.size()});
  } catch (std::exception const&) {
    std::this_thread::sleep_for(std::chrono::hours(1));
  }
}
