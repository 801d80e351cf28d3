// ranks: 2   labels: fault   exit: error   says: a run is saved in on_save_point alone
// An error that the library throws as one of all ranks, in a call that a hook makes on one, is caught around fit.
#include <chrono>
#include <cstdint>
#include <exception>
#include <thread>
#include <vector>

#include "trireme/trireme.hpp"

namespace tr = trireme;

struct Saves {
  bool here;
  template <class Run>
  void on_train_batch_end(Run& run) const {
    if (here && run.batch() == 2) run.save("never.npz");
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
  try {
    tr::fit(strategy, model, tr::data::from_tensor_slices(x, y).batch(tr::GlobalBatch{20}), {.verbose = false},
            Saves{world.rank() == 0});
  } catch (std::exception const&) {
    std::this_thread::sleep_for(std::chrono::hours(1));
  }
}
