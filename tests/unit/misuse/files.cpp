#include "support/misuse.hpp"

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "trireme/callbacks/backup_and_restore.hpp"
#include "trireme/callbacks/csv_logger.hpp"
#include "trireme/callbacks/improvement.hpp"
#include "trireme/callbacks/model_checkpoint.hpp"
#include "trireme/callbacks/reduce_lr_on_plateau.hpp"
#include "trireme/compile.hpp"
#include "trireme/data/from_tensor_slices.hpp"
#include "trireme/fit.hpp"
#include "trireme/layers/dense.hpp"
#include "trireme/losses/sparse_categorical_crossentropy.hpp"
#include "trireme/models/sequential.hpp"
#include "trireme/optimizers/sgd.hpp"
#include "trireme/strategies/data_parallel/multi_worker_mirrored.hpp"
#include "trireme/tensor/xtensor.hpp"

namespace trireme::test {

/// Ends with another sentence if training begins.
struct Late {
  void on_train_batch_begin(auto&) const { raise_uniform(Error("the output was not tried before training")); }
};

template <class... Callbacks>
void train(Environment& environment, Callbacks&&... callbacks) {
  MultiWorkerMirroredStrategy<> const strategy(environment.world());
  xt::xtensor<float, 2> const x = xt::zeros<float>({12, 3});
  std::vector<std::int32_t> const y(12, 1);
  auto model =
      compile(strategy, Sequential{Input<3>{}, Dense<4>{}}, SGD{}, SparseCategoricalCrossentropy{.from_logits = true});
  auto const data = data::from_tensor_slices(x, y).batch(GlobalBatch{4});
  fit(strategy, model, data, validation(data), {.verbose = false}, std::forward<Callbacks>(callbacks)..., Late{});
}

void save(Environment& environment, char const* path) {
  MultiWorkerMirroredStrategy<> const strategy(environment.world());
  compile(strategy, Sequential{Input<3>{}, Dense<4>{}}, SGD{}, SparseCategoricalCrossentropy{.from_logits = true})
      .save_weights(path);
}

Misuse const table[] = {
    {"checkpoint_as_h5", "model.h5: ModelCheckpoint cannot write it, since it is no name of a file of weights",
     [](Environment& environment) { train(environment, ModelCheckpoint<"loss">{.path = "model.h5"}); }},
    {"checkpoint_as_keras", "model.keras: ModelCheckpoint cannot write it, since it is no name of a file of weights",
     [](Environment& environment) { train(environment, ModelCheckpoint<"loss">{.path = "model.keras"}); }},
    {"checkpoint_without_ending", "model.npz",
     [](Environment& environment) { train(environment, ModelCheckpoint<"loss">{.path = "model"}); }},
    {"checkpoint_without_path", "ModelCheckpoint needs a .path",
     [](Environment& environment) { train(environment, ModelCheckpoint<"loss">{}); }},
    {"checkpoint_in_absent_folder", "ModelCheckpoint cannot write it, since there is no folder no/such",
     [](Environment& environment) { train(environment, ModelCheckpoint<"loss">{.path = "no/such/{epoch}.npz"}); }},
    {"best_of_validation_by_batches",
     "ModelCheckpoint: save_best_only monitors 'val_loss', but during an epoch there are only: loss",
     [](Environment& environment) {
       train(environment, ModelCheckpoint<>{.path = "best.npz", .save_best_only = true, .save_freq = {2}});
     }},
    {"best_of_a_later_callback",
     "ModelCheckpoint monitors 'learning_rate', which a later callback logs: give that one before it",
     [](Environment& environment) {
       train(environment,
             ModelCheckpoint<"learning_rate">{.path = "best.npz", .save_best_only = true, .mode = Mode::min},
             ReduceLROnPlateau<"loss">{});
     }},
    {"backup_without_ending", "run: BackupAndRestore cannot write it, since it is no name of a checkpoint",
     [](Environment& environment) { train(environment, BackupAndRestore{.path = "run"}); }},
    {"backup_where_nothing_is_made", "/proc/no/run.npz: BackupAndRestore cannot write it, since ",
     [](Environment& environment) { train(environment, BackupAndRestore{.path = "/proc/no/run.npz"}); }},
    {"log_in_absent_folder", "no/log.csv: CSVLogger cannot write it, since there is no folder no",
     [](Environment& environment) { train(environment, CSVLogger{.path = "no/log.csv"}); }},
    {"log_without_separator", "CSVLogger: the separator '' is not one character",
     [](Environment& environment) { train(environment, CSVLogger{.path = "log.csv", .separator = ""}); }},
    {"two_outputs_in_one_file", "ModelCheckpoint and BackupAndRestore both write run.npz",
     [](Environment& environment) {
       train(environment, ModelCheckpoint<"loss">{.path = "run.npz"}, BackupAndRestore{.path = "run.npz"});
     }},
    {"weights_as_h5", "model.h5: is no name of a file of weights",
     [](Environment& environment) { save(environment, "model.h5"); }},
    {"weights_in_absent_folder", "no/such/model.npz",
     [](Environment& environment) { save(environment, "no/such/model.npz"); }},
};

}  // namespace trireme::test

int main(int argc, char** argv) { return trireme::test::misuse(argc, argv, trireme::test::table); }
