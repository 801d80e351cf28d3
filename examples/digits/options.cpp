// Apart from the training: CLI11 takes as long to compile as a third of it.
#include "options.hpp"

#include <cstdlib>

#include <CLI/CLI.hpp>

Options parse_options(int argc, char** argv) {
  Options options;
  CLI::App app("Trains a convolutional network on handwritten digits");
  app.add_option("--strategy", options.strategy, "how training is distributed")
      ->check(CLI::IsMember({"one-device", "mirrored", "multi-worker-mirrored"}))
      ->capture_default_str();
  app.add_option("--data", options.data, "a .csv file of digits, or a folder with optdigits or IDX files");
  app.add_option("--backup", options.backup,
                 "a file that holds the run after each epoch and a batch system's signal, to go on from");
  app.add_option("--log", options.log, "a .csv file for the values of each epoch");
  app.add_option("--epochs", options.epochs)->capture_default_str();
  app.add_option("--batch", options.batch, "samples of the global batch")->capture_default_str();
  app.add_option("--replicas", options.replicas, "of the mirrored strategy")->capture_default_str();
  app.add_option("--threads", options.threads, "of each process; 0: as the environment says");
  app.add_option("--seed", options.seed)->capture_default_str();
  app.add_flag("--quiet", options.quiet, "no progress bar");
  try {
    app.parse(argc, argv);
  } catch (CLI::ParseError const& e) {
    std::exit(app.exit(e));
  }
  return options;
}
