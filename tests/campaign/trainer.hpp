/// A training of a small model whose files the campaign damages:
///
///     campaign_mirrored FOLDER FORMAT
///
/// In FOLDER/work lie the outputs of three callbacks; FORMAT is h5 or npz. A run that ends well writes result.npz
/// (weights and optimizer), best.npz (of ModelCheckpoint) and, at last, history.txt to FOLDER; one that was ended goes
/// on when it is started again.
///
///     TRIREME_CAMPAIGN_KILL=1:7         rank 1 kills itself after the seventh step
#pragma once

#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include <unistd.h>

#include <fmt/format.h>

#include "support/small_training.hpp"
#include "trireme/callbacks/backup_and_restore.hpp"
#include "trireme/callbacks/csv_logger.hpp"
#include "trireme/callbacks/model_checkpoint.hpp"
#include "trireme/compile.hpp"
#include "trireme/environment/environment.hpp"
#include "trireme/fit.hpp"
#include "trireme/io/atomic_file.hpp"
#include "trireme/losses/sparse_categorical_crossentropy.hpp"
#include "trireme/metrics/accuracy.hpp"
#include "trireme/optimizers/adam.hpp"

namespace trireme::campaign {

/// Kills this process as the environment says.
struct Killer {
  std::size_t rank;
  template <class Run>
  void on_train_batch_end(Run& run) const {
    char const* const text = std::getenv("TRIREME_CAMPAIGN_KILL");
    if (text != nullptr && fmt::format("{}:{}", rank, run.step()) == text) ::raise(SIGKILL);
  }
};

/// \param make  make(world) is the strategy
template <class Make>
int train(int argc, char** argv, Make const& make) {
  if (argc != 3) return 2;
  std::string const folder = argv[1], format = argv[2];
  std::ofstream(folder + "/ranks/" + std::to_string(::getpid()));
  Environment const environment(argc, argv, {.threads = 1});
  auto const& world = environment.world();
  auto const strategy = make(world);
  constexpr std::size_t samples = 27;
  auto const train = test::mlp_samples<float>(samples), tests = test::mlp_samples<float>(7, 2);
  auto const build = [&] {
    return compile(strategy,
                   Sequential{Input<test::mlp_inputs>{}, Dense<40, Tanh>{.kernel_regularizer = L2(1e-2)},
                              Dropout{.rate = 0.25f}, Dense<test::classes>{}},
                   Adam{.learning_rate = 0.03}, SparseCategoricalCrossentropy{.from_logits = true}, Accuracy{},
                   CompileOptions{.seed = 6});
  };
  std::string const work = folder + "/work/";
  std::string const best = work + (format == "h5" ? "best.weights.h5" : "best.npz");
  if (std::filesystem::exists(best)) {  // what an earlier run left has to be whole
    auto left = build();
    left.load_weights(best);
  }
  auto model = build();
  auto const history =
      fit(strategy, model, train.data().shuffle(samples, 4).batch(GlobalBatch{5}).prefetch(2),
          validation(tests.data().batch(GlobalBatch{3})), {.epochs = 3, .verbose = false}, Killer{world.rank()},
          ModelCheckpoint<"loss">{.path = best, .save_best_only = true}, CSVLogger{.path = work + "log.csv"},
          BackupAndRestore{.path = work + "run." + format, .save_freq = 2, .verbose = true});
  model.save_weights(folder + "/result.npz");
  model.load_weights(best);
  model.save_weights(folder + "/best.npz");
  if (!world.is_chief()) return 0;
  std::string text;
  for (auto const& [name, values] : history.values)
    for (double const value : values) text += fmt::format("{} {:a}\n", name, value);
  write_atomically(folder + "/history.txt", text);
  return 0;
}

}  // namespace trireme::campaign
