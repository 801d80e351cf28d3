// Trains a convolutional network on handwritten digits, under the strategy that the command line names.
//
//   mpiexec -n 2 digits --strategy multi-worker-mirrored --epochs 15
#include <chrono>
#include <csignal>
#include <cstddef>
#include <fstream>
#include <stdexcept>
#include <string>

#include <fmt/format.h>
#include <trireme/trireme.hpp>

#include "digits_data.hpp"
#include "options.hpp"

namespace tr = trireme;

/// A line an epoch, with all digits of its values.
void write_log(tr::History const& history, std::string const& path) {
  std::ofstream file(path);
  file << "epoch";
  for (auto const& entry : history.values) file << ',' << entry.first;
  for (std::size_t epoch = 0; epoch < history.epochs.size(); ++epoch) {
    file << '\n' << history.epochs[epoch];
    for (auto const& entry : history.values) file << ',' << fmt::format("{}", entry.second[epoch]);
  }
  file << '\n';
  file.close();
  if (!file) throw std::runtime_error(path + " could not be written");
}

/// The same for every strategy: only its type differs.
template <class Strategy>
void train(Strategy const& strategy, Digits const& digits, Options const& options, bool chief) {
  auto model =
      tr::compile(strategy,
                  tr::Sequential{tr::Input<28, 28, 1>{}, tr::Conv2D<32, 3, 3, tr::ReLU>{}, tr::MaxPooling2D<2, 2>{},
                                 tr::Conv2D<64, 3, 3, tr::ReLU>{}, tr::MaxPooling2D<2, 2>{}, tr::Flatten{},
                                 tr::Dense<64, tr::ReLU>{}, tr::Dense<10>{}},
                  tr::Adam{.learning_rate = 1e-3}, tr::SparseCategoricalCrossentropy{.from_logits = true},
                  tr::Accuracy{}, tr::CompileOptions{.seed = options.seed});
  if (chief) fmt::print("{}", model.summary());

  auto const dataset = [&](Digits::Part const& part) {
    return tr::data::from_tensor_slices(part.images, part.labels).map({28, 28, 1}, ResizeTo28{digits.side}).cache();
  };
  std::size_t const samples = digits.train.images.samples();
  auto const train = dataset(digits.train).shuffle(samples, 7).batch(tr::GlobalBatch{options.batch}).prefetch(2);
  auto const test = dataset(digits.test).batch(tr::GlobalBatch{256});

  auto const start = std::chrono::steady_clock::now();
  auto const fit = [&](auto... backup) {
    return tr::fit(strategy, model, train, tr::validation(test), {.epochs = options.epochs, .verbose = !options.quiet},
                   tr::ReduceLROnPlateau<"val_loss">{.factor = 0.3, .patience = 3},
                   tr::EarlyStopping<"val_loss">{.patience = 8, .restore_best_weights = true}, backup...);
  };
  auto const history = options.backup.empty()
                           ? fit()
                           : fit(tr::BackupAndRestore{.path = options.backup, .signals = {SIGUSR1, SIGUSR2, SIGTERM}});
  double const seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  auto const result = tr::evaluate(strategy, model, test);

  if (!chief) return;
  if (!options.log.empty()) write_log(history, options.log);
  std::size_t const epochs = history.epochs.size();
  fmt::print(
      "\nstrategy: {}\nparameters: {}\nepochs: {}\nsamples per second: {:.0f}\nval_loss: {:.4f}\n"
      "val_accuracy: {:.4f}\n",
      options.strategy, model.parameter_count(), epochs, static_cast<double>(samples * epochs) / seconds,
      result.find("loss")->value(), result.find("accuracy")->value());
}

int main(int argc, char** argv) {
  Options const options = parse_options(argc, argv);

  tr::Environment environment(argc, argv, {.threads = options.threads});
  auto const& world = environment.world();
  Digits const digits = world.together([&] { return read_digits(options.data); });

  if (options.strategy == "multi-worker-mirrored")
    train(tr::MultiWorkerMirroredStrategy<>(world), digits, options, world.is_chief());
  else if (!world.is_chief())
    return 0;  // a strategy of one process needs no other
  else if (options.strategy == "mirrored")
    train(tr::MirroredStrategy<>(options.replicas), digits, options, true);
  else
    train(tr::OneDeviceStrategy<>(), digits, options, true);
}
