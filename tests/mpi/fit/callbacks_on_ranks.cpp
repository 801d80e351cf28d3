// ranks: 1 2 3 4
// The callbacks that write files and change the training, over several ranks.
#define BOOST_TEST_MODULE callbacks_on_ranks
#include "support/kokkos_fixture.hpp"
#include "support/small_training.hpp"
#include "support/uniform_error.hpp"

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include <unistd.h>

#include "trireme/callbacks/csv_logger.hpp"
#include "trireme/callbacks/early_stopping.hpp"
#include "trireme/callbacks/lambda_callback.hpp"
#include "trireme/callbacks/model_checkpoint.hpp"
#include "trireme/callbacks/reduce_lr_on_plateau.hpp"
#include "trireme/callbacks/tensor_board.hpp"
#include "trireme/compile.hpp"
#include "trireme/fit.hpp"
#include "trireme/losses/sparse_categorical_crossentropy.hpp"
#include "trireme/metrics/accuracy.hpp"
#include "trireme/optimizers/adam.hpp"
#include "trireme/strategies/data_parallel/multi_worker_mirrored.hpp"

using namespace trireme;

namespace {

Communicator const& world() { return test::environment().world(); }

/// One folder for all ranks, gone after the test case.
struct SharedFolder {
  std::string path;
  SharedFolder() {
    if (world().is_chief()) {
      path = (std::filesystem::temp_directory_path() / "trireme_fit_XXXXXX").string();
      ::mkdtemp(path.data());
    }
    world().broadcast(path);
  }
  ~SharedFolder() {
    world().barrier();
    if (world().is_chief()) std::filesystem::remove_all(path);
  }
  std::vector<std::string> files() const {
    world().barrier();
    std::vector<std::string> names;
    for (auto const& entry : std::filesystem::directory_iterator(path)) names.push_back(entry.path().filename());
    std::sort(names.begin(), names.end());
    return names;
  }
};

struct Fixture {
  SharedFolder folder;
  MultiWorkerMirroredStrategy<> strategy{world()};
  test::Samples<float> samples = test::mlp_samples<float>(23);
  test::Samples<float> held_out = test::mlp_samples<float>(7, 2);

  auto data() const { return samples.data().shuffle(23, 5).batch(GlobalBatch{6}); }
  auto tests() const { return validation(held_out.data().batch(GlobalBatch{3})); }
  auto compiled(double rate = 0.05) const {
    return compile(strategy, test::mlp(), Adam{.learning_rate = rate},
                   SparseCategoricalCrossentropy{.from_logits = true}, Accuracy{}, CompileOptions{.seed = 8});
  }
};

/// Everything that training goes on from, bit by bit.
template <class Model>
std::vector<std::vector<float>> state_of(Model const& model) {
  detail::HostState<float> state;
  model.engine().gather_state(state);
  std::vector<std::vector<float>> all{state.parameters};
  all.insert(all.end(), state.slots.begin(), state.slots.end());
  all.push_back({static_cast<float>(state.iteration), state.learning_rate});
  return all;
}

/// Requests for a loss that the scripted values give, so that what follows is known beforehand.
struct ScriptedLoss {
  static constexpr std::array logs{std::string_view("scripted")};
  std::vector<double> values;
  template <class Run>
  void on_epoch_end(Run& run) {
    double const value = values[run.epoch()];
    run.logs().set("scripted", run.loss().map([value](double) { return value; }));
  }
};

}  // namespace

BOOST_FIXTURE_TEST_CASE(early_stopping_restores_the_best_weights_on_all_ranks, Fixture) {
  auto model = compiled();
  std::vector<std::uint64_t> bits;
  auto const history =
      fit(strategy, model, data(), {.epochs = 9, .verbose = false}, ScriptedLoss{{5, 4, 6, 7, 8, 9, 9, 9, 9}},
          LambdaCallback{.on_epoch_end = [&](auto& run) { bits.push_back(test::weight_bits(run.model())); }},
          EarlyStopping<"scripted">{.patience = 3, .mode = Mode::min, .restore_best_weights = true});
  BOOST_TEST(history.epochs.size() == 5u);
  BOOST_TEST(bits.size() == 5u);
  BOOST_TEST(test::weight_bits(model) == bits[1]);
  BOOST_TEST(bits[1] != bits[4]);
  test::check_equal_on_all(world(), model);
}

BOOST_FIXTURE_TEST_CASE(a_plateau_lowers_the_rate_on_all_ranks, Fixture) {
  auto model = compiled();
  auto const history = fit(strategy, model, data(), {.epochs = 4, .verbose = false}, ScriptedLoss{{3, 3, 3, 3}},
                           ReduceLROnPlateau<"scripted">{.factor = 0.5, .patience = 2, .mode = Mode::min});
  BOOST_TEST(history["learning_rate"] == (std::vector<double>{0.05, 0.05, 0.05, 0.025}),
             boost::test_tools::per_element());
  BOOST_TEST(world().allreduce_max(model.engine().optimizer().learning_rate()).value() == 0.025);
  BOOST_TEST(world().allreduce_min(model.engine().optimizer().learning_rate()).value() == 0.025);
  test::check_equal_on_all(world(), model);
}

BOOST_FIXTURE_TEST_CASE(the_log_is_one_file_with_a_line_an_epoch, Fixture) {
  auto model = compiled();
  auto const path = folder.path + "/log.csv";
  auto const history = fit(strategy, model, data(), tests(), {.epochs = 3, .verbose = false}, CSVLogger{.path = path});
  BOOST_TEST(folder.files() == std::vector<std::string>{"log.csv"}, boost::test_tools::per_element());
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  BOOST_TEST(line == "epoch,accuracy,loss,val_accuracy,val_loss");
  for (std::size_t epoch = 0; epoch < 3; ++epoch) {
    std::getline(file, line);
    BOOST_TEST(line == fmt::format("{},{},{},{},{}", epoch, history["accuracy"][epoch], history["loss"][epoch],
                                   history["val_accuracy"][epoch], history["val_loss"][epoch]));
  }
  BOOST_TEST(!std::getline(file, line));
}

BOOST_FIXTURE_TEST_CASE(a_log_that_another_run_took_over_gets_no_line_of_this_one, Fixture) {
  auto model = compiled();
  auto const path = folder.path + "/log.csv";
  auto const take_over = [&](auto& run) {  // as a run does that has seen no sign of life of this one
    if (run.epoch() == 1 && world().is_chief()) {
      std::filesystem::remove(path + ".lock");
      std::ofstream(path + ".lock") << "another's";
      std::ofstream(path) << "another's";
    }
    world().barrier();
  };
  BOOST_TEST(
      test::uniform_message_of<FileError>(world(), [&] {
        fit(strategy, model, data(), {.epochs = 3, .verbose = false}, LambdaCallback{.on_epoch_begin = take_over},
            CSVLogger{.path = path});
      }).ends_with(path + ": was taken over by another run, to which this one had shown no sign of life for long"));
  world().barrier();
  std::ifstream file(path);
  BOOST_TEST(std::string(std::istreambuf_iterator<char>(file), {}) == "another's");
}

BOOST_FIXTURE_TEST_CASE(a_checkpoint_is_one_file_that_every_rank_loads_to_the_bit, Fixture) {
  std::vector<std::string> names{"best.npz"};
#ifdef TRIREME_HAVE_HDF5
  names.emplace_back("best.weights.h5");
#endif
  for (std::string const& name : names) BOOST_TEST_CONTEXT(name) {
      SharedFolder const own;
      auto const path = own.path + "/" + name;
      auto uninterrupted = compiled();
      fit(strategy, uninterrupted, data(), {.epochs = 4, .verbose = false});

      auto saved = compiled();
      fit(strategy, saved, data(), {.epochs = 2, .verbose = false}, ModelCheckpoint<"loss">{.path = path});
      BOOST_TEST(own.files() == std::vector<std::string>{name}, boost::test_tools::per_element());

      auto loaded = compiled(0.7);
      loaded.load_weights(path);
      BOOST_TEST((state_of(loaded) == state_of(saved)));
      test::check_equal_on_all(world(), loaded);

      // Its Adam goes on with the same moments, iteration and rate.
      fit(strategy, loaded, data(), {.epochs = 4, .initial_epoch = 2, .verbose = false});
      BOOST_TEST(test::weight_bits(loaded) == test::weight_bits(uninterrupted));
      BOOST_TEST(loaded.engine().iteration() == uninterrupted.engine().iteration());
      BOOST_TEST(test::weight_bits(saved) != test::weight_bits(uninterrupted));
      test::check_equal_on_all(world(), loaded);
    }
}

BOOST_FIXTURE_TEST_CASE(checkpoints_of_the_best_epochs_have_their_values_in_their_names, Fixture) {
  auto model = compiled();
  fit(strategy, model, data(), {.epochs = 4, .verbose = false}, ScriptedLoss{{3, 4, 2, 5}},
      ModelCheckpoint<"scripted">{
          .path = folder.path + "/{epoch:02d}-{scripted:.1f}.npz", .save_best_only = true, .mode = Mode::min});
  BOOST_TEST(folder.files() == (std::vector<std::string>{"01-3.0.npz", "03-2.0.npz"}),
             boost::test_tools::per_element());
}

BOOST_FIXTURE_TEST_CASE(checkpoints_within_an_epoch_count_batches_across_epochs, Fixture) {
  auto model = compiled();  // 4 batches an epoch
  fit(strategy, model, data(), {.epochs = 2, .verbose = false},
      ModelCheckpoint<"loss">{.path = folder.path + "/{epoch}-{batch}.npz", .save_freq = 3});
  BOOST_TEST(folder.files() == (std::vector<std::string>{"1-3.npz", "2-2.npz"}), boost::test_tools::per_element());
}

#ifdef TRIREME_HAVE_PROTOZERO
BOOST_FIXTURE_TEST_CASE(event_files_removed_during_training_are_made_again_and_all_ranks_go_on, Fixture) {
  auto model = compiled();
  auto const removed = [&](auto& run) {
    if (run.epoch() == 1 && world().is_chief()) std::filesystem::remove_all(folder.path + "/logs");
    world().barrier();
  };
  auto const history =
      fit(strategy, model, data(), tests(), {.epochs = 3, .verbose = false}, LambdaCallback{.on_epoch_begin = removed},
          TensorBoard{.log_dir = folder.path + "/logs", .update_freq = 2});
  BOOST_TEST(history.epochs.size() == 3u);
  BOOST_TEST(folder.files() == std::vector<std::string>{"logs"}, boost::test_tools::per_element());
  for (char const* run : {"train", "validation"}) {
    std::filesystem::directory_iterator const files(folder.path + "/logs/" + run);
    BOOST_TEST(std::distance(files, {}) == 1);
  }
  test::check_equal_on_all(world(), model);
}
#endif
