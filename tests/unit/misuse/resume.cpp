#include "support/killer.hpp"
#include "support/misuse.hpp"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <vector>

#include "trireme/callbacks/backup_and_restore.hpp"
#include "trireme/compile.hpp"
#include "trireme/data/from_tensor_slices.hpp"
#include "trireme/fit.hpp"
#include "trireme/layers/dense.hpp"
#include "trireme/losses/mean_squared_error.hpp"
#include "trireme/losses/sparse_categorical_crossentropy.hpp"
#include "trireme/models/sequential.hpp"
#include "trireme/optimizers/sgd.hpp"
#include "trireme/strategies/data_parallel/multi_worker_mirrored.hpp"
#include "trireme/strategies/parameter_server/parameter_server.hpp"
#include "trireme/tensor/xtensor.hpp"

namespace trireme::test {

void train(Environment& environment, Parallelism plan, std::size_t batches, std::size_t batch = 4) {
  MultiWorkerMirroredStrategy<> const strategy(environment.world());
  xt::xtensor<float, 2> const x = xt::zeros<float>({12, 3});
  std::vector<std::int32_t> const y(12, 1);
  auto model = compile(strategy, Sequential{Input<3>{}, Dense<4>{}}, SGD{},
                       SparseCategoricalCrossentropy{.from_logits = true}, CompileOptions{.parallelism = plan});
  try {
    fit(strategy, model, data::from_tensor_slices(x, y).batch(GlobalBatch{batch}), {.verbose = false}, Killer{batches},
        BackupAndRestore{.path = "run.npz", .save_freq = 1});
  } catch (Killed const&) {
  }
}

/// Of a test that was run before.
void remove_checkpoint(Environment& environment) {
  if (environment.world().is_chief())
    for (auto const* file : {"run.npz", "run.npz.previous", "run.npz.damaged"}) std::filesystem::remove(file);
  environment.world().barrier();
}

Misuse const table[] = {
    {"another_plan", "BackupAndRestore{.placement = Placement::any} goes on here",
     [](Environment& environment) {
       remove_checkpoint(environment);
       train(environment, Parallelism::samples, 1);
       train(environment, Parallelism::intra_op, 9);
     }},
    {"another_batch_size", "run.npz: holds a run that was trained on other data",
     [](Environment& environment) {
       remove_checkpoint(environment);
       train(environment, Parallelism::samples, 1);
       train(environment, Parallelism::samples, 9, 6);
     }},
    {"another_batch_size_where_the_newest_is_damaged", "run.npz.previous: holds a run that was trained on other data",
     [](Environment& environment) {
       remove_checkpoint(environment);
       train(environment, Parallelism::samples, 2);
       if (environment.world().is_chief()) std::filesystem::resize_file("run.npz", 10);
       train(environment, Parallelism::samples, 9, 6);
     }},
    {"saves_within_epochs_where_processes_acquire_batches",
     "BackupAndRestore saves at the end of epochs alone where each process acquires batches of its own; leave out "
     ".save_freq",
     [](Environment& environment) {
       ParameterServerStrategy<> const strategy(environment.world(), {.staleness = 1});
       xt::xtensor<float, 2> const x = xt::zeros<float>({12, 3}), y = xt::zeros<float>({12, 4});
       auto model = compile(strategy, Sequential{Input<3>{}, Dense<4>{}}, SGD{}, MeanSquaredError{});
       fit(strategy, model, data::from_tensor_slices(x, y).batch(GlobalBatch{4}), {.verbose = false},
           BackupAndRestore{.path = "run.npz", .save_freq = 1});
     },
     2},
};

}  // namespace trireme::test

int main(int argc, char** argv) { return trireme::test::misuse(argc, argv, trireme::test::table); }
