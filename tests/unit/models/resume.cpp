// Law 4: a run that was interrupted after any step and resumed is the run, to the bit.
#define BOOST_TEST_MODULE resume
#include "support/killer.hpp"
#include "support/kokkos_fixture.hpp"
#include "support/small_training.hpp"

#include <array>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "trireme/callbacks/backup_and_restore.hpp"
#include "trireme/callbacks/csv_logger.hpp"
#include "trireme/callbacks/early_stopping.hpp"
#include "trireme/callbacks/lambda_callback.hpp"
#include "trireme/callbacks/learning_rate_scheduler.hpp"
#include "trireme/callbacks/model_checkpoint.hpp"
#include "trireme/callbacks/reduce_lr_on_plateau.hpp"
#include "trireme/compile.hpp"
#include "trireme/data/from_generator.hpp"
#include "trireme/fit.hpp"
#include "trireme/layers/batch_normalization.hpp"
#include "trireme/losses/sparse_categorical_crossentropy.hpp"
#include "trireme/metrics/accuracy.hpp"
#include "trireme/optimizers/adam.hpp"
#include "trireme/schedules/exponential_decay.hpp"
#include "trireme/strategies/data_parallel/mirrored.hpp"
#include "trireme/strategies/data_parallel/one_device.hpp"
#include "unit/io/folder.hpp"

using namespace trireme;

namespace {

constexpr std::size_t samples = 22, batches = 5, epochs = 4;  // the last batch of an epoch is a partial one

using test::Killed, test::Killer, test::never;

/// A callback of a user's own whose decisions depend on its past: it lowers the rate each third batch.
struct EachThirdBatch {
  std::size_t since = 0;
  std::vector<double> rates{};
  std::vector<std::string> notes{};

  template <class Run>
  void on_train_batch_begin(Run& run) {
    if (++since < 3) return;
    since = 0;
    run.set_learning_rate(run.learning_rate().value() * 0.97);
    rates.push_back(run.learning_rate().value());
    notes.push_back(std::to_string(run.step()));
  }
  template <class Archive>
  void state(Archive& archive) {
    archive("since", since);
    archive("rates", rates);
    archive("notes", notes);
  }
};

auto architecture() {
  return Sequential{Input<test::mlp_inputs>{}, Dense<9, Tanh>{.kernel_regularizer = L2(1e-2)},
                    BatchNormalization<>{.momentum = 0.8}, Dropout{.rate = 0.25f}, Dense<test::classes>{}};
}

/// What a run leaves behind.
struct Result {
  std::uint64_t weights = 0;
  History history;
  EachThirdBatch own;
  std::string log, saved;
  std::uint64_t step = 0;
  double rate = 0;
};

void check_same(Result const& a, Result const& b) {
  BOOST_TEST(a.weights == b.weights);
  BOOST_TEST(a.history.epochs == b.history.epochs, boost::test_tools::per_element());
  BOOST_TEST(a.history.names() == b.history.names());
  BOOST_TEST((a.history.values == b.history.values));  // to the bit
  BOOST_TEST(a.own.since == b.own.since);
  BOOST_TEST((a.own.rates == b.own.rates));
  BOOST_TEST((a.own.notes == b.own.notes));
  BOOST_TEST(a.log == b.log);
  BOOST_TEST(a.saved == b.saved);
  BOOST_TEST(a.step == b.step);
  BOOST_TEST(a.rate == b.rate);
}

/// Trains in a folder; after `steps` batches the process "is killed", and the next call goes on from what it left.
template <class T, class Strategy, class Callback>
Result train(Strategy const& strategy, std::string const& folder, Callback backup, std::size_t steps,
             Parallelism plan) {
  auto const train = test::mlp_samples<T>(samples), tests = test::mlp_samples<T>(7, 2);
  auto const data = train.data().shuffle(samples, 4).batch(GlobalBatch{5}).prefetch(2);
  auto model = compile<T>(strategy, architecture(), Adam{.learning_rate = 0.03},
                          SparseCategoricalCrossentropy{.from_logits = true}, Accuracy{},
                          CompileOptions{.seed = 6, .parallelism = plan});
  Result result;
  result.history =
      fit(strategy, model, data, validation(tests.data().batch(GlobalBatch{3})), {.epochs = epochs, .verbose = false},
          Killer{steps}, backup, result.own, CSVLogger{.path = folder + "/log.csv"},
          LearningRateScheduler{[](std::size_t, double rate) { return rate * 0.9; }},
          EarlyStopping<"val_loss">{.min_delta = 0.02, .patience = 2, .restore_best_weights = true},
          ReduceLROnPlateau<"loss">{.factor = 0.6, .patience = 1, .min_delta = 0.1},
          ModelCheckpoint<"val_accuracy">{.path = folder + "/best-{epoch}.weights.h5", .save_best_only = true});
  result.weights = test::weight_bits(model);
  result.log = test::text_of(folder + "/log.csv");
  for (std::size_t epoch = 1; epoch <= epochs; ++epoch)
    result.saved += std::filesystem::exists(folder + "/best-" + std::to_string(epoch) + ".weights.h5") ? '1' : '0';
  result.step = model.engine().iteration();
  result.rate = model.engine().optimizer().learning_rate();
  return result;
}

template <class T, class Strategy, class Callback>
Result train_to_the_end(Strategy const& strategy, std::string const& folder, Callback const& backup, std::size_t steps,
                        Parallelism plan, std::size_t& runs) {
  for (runs = 1; runs < 200; ++runs) try {
      return train<T>(strategy, folder, backup, steps, plan);
    } catch (Killed const&) {
    }
  throw std::runtime_error("the run never ends");
}

struct NoBackup {
  void on_train_begin(auto&) {}
};

struct SavesElsewhere {
  void on_epoch_end(auto& run) { run.save("run.npz"); }
};
struct ResumesElsewhere {
  void on_train_begin(auto& run) { run.resume("run.npz"); }
};

/// Each step that a process may be killed after, with checkpoints at all distances.
template <class T, class Strategy>
void check_law(Strategy const& strategy, char const* file, Parallelism plan) {
  test::Folder whole;
  auto const expected = train<T>(strategy, whole.root.string(), NoBackup{}, never, plan);
  BOOST_TEST(expected.history.epochs.size() > 2u);
  for (std::size_t freq : {0u, 1u, 2u, 3u, 7u})
    for (std::size_t steps = freq == 0 ? batches : freq; steps < batches * epochs; steps += freq == 1 ? 5 : 2) {
      test::Folder folder;
      std::size_t runs = 0;
      BackupAndRestore const backup{.path = folder.file(file), .save_freq = freq};
      BOOST_TEST_CONTEXT("a checkpoint each " << freq << " batches, killed after " << steps) {
        check_same(train_to_the_end<T>(strategy, folder.root.string(), backup, steps, plan, runs), expected);
        BOOST_TEST((runs > 1 || steps >= expected.history.epochs.size() * batches));
        BOOST_TEST(!std::filesystem::exists(backup.path));  // training is complete
        BOOST_TEST(!std::filesystem::exists(backup.path + ".previous"));
      }
    }
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_run_that_is_killed_after_any_step_ends_as_if_it_had_not_been) {
#ifdef TRIREME_HAVE_HDF5
  check_law<float>(OneDeviceStrategy<>(), "run.h5", Parallelism::samples);
#else
  check_law<float>(OneDeviceStrategy<>(), "run.npz", Parallelism::samples);
#endif
}

BOOST_AUTO_TEST_CASE(replicas_in_turn_and_files_without_hdf5_make_no_difference) {
  check_law<double>(MirroredStrategy<>(2), "run.npz", Parallelism::intra_op);
}

BOOST_AUTO_TEST_CASE(a_further_fit_goes_on_in_its_orders_without_the_first) {
  OneDeviceStrategy<> const strategy;
  test::Folder const folder;
  auto const train_data = test::mlp_samples<float>(samples);
  auto const data = train_data.data().shuffle(samples, 4).batch(GlobalBatch{5});
  auto const compiled = [&] {
    return compile(strategy, test::mlp(), Adam{.learning_rate = 0.03},
                   SparseCategoricalCrossentropy{.from_logits = true}, CompileOptions{.seed = 6});
  };
  FitOptions const options{.epochs = 3, .verbose = false};
  auto whole = compiled();
  fit(strategy, whole, data, {.epochs = 2, .verbose = false});
  fit(strategy, whole, data, options);
  fit(strategy, whole, data, options);
  for (std::size_t const steps : {2u, 5u, 8u, 14u}) {  // in an epoch, and at the end of one
    std::string const path = folder.file("further.npz");
    auto killed = compiled();
    fit(strategy, killed, data, {.epochs = 2, .verbose = false});
    BOOST_CHECK_THROW(
        fit(strategy, killed, data, options, BackupAndRestore{.path = path, .save_freq = 1}, Killer(steps)), Killed);
    auto resumed = compiled();
    fit(strategy, resumed, data, options, BackupAndRestore{.path = path});
    fit(strategy, resumed, data, options);
    BOOST_TEST(test::weight_bits(resumed) == test::weight_bits(whole), "after " << steps << " steps");
  }
}

BOOST_AUTO_TEST_CASE(a_run_is_saved_and_resumed_by_callbacks_with_the_hooks_for_it) {
  auto const train = test::mlp_samples<float>(samples);
  OneDeviceStrategy<> const strategy;
  auto model = compile<float>(strategy, architecture(), Adam{}, SparseCategoricalCrossentropy{.from_logits = true});
  auto const message_of = [&](auto callback) -> std::string {
    try {
      fit(strategy, model, train.data().batch(GlobalBatch{5}), {.verbose = false}, callback);
    } catch (ValueError const& error) {
      return error.what();
    }
    return "";
  };
  BOOST_TEST(message_of(SavesElsewhere{}) ==
             "a run is saved in on_save_point alone, by a callback of fit that has this hook");
  BOOST_TEST(message_of(ResumesElsewhere{}) ==
             "a run is resumed in on_train_resume alone, by a callback of fit that has this hook");
  BOOST_TEST(!std::filesystem::exists("run.npz"));
}

BOOST_AUTO_TEST_CASE(a_file_is_one_fits_alone_until_that_ends_whatever_ends_it) {
  test::Folder folder;
  auto const train = test::mlp_samples<float>(samples);
  OneDeviceStrategy<> const strategy;
  auto const fit_with = [&](auto& writes, auto hook) {
    auto model = compile<float>(strategy, architecture(), Adam{}, SparseCategoricalCrossentropy{.from_logits = true});
    fit(strategy, model, train.data().batch(GlobalBatch{5}), {.epochs = 2, .verbose = false},
        LambdaCallback{.on_epoch_end = [&](auto&) { hook(); }}, writes);
  };
  auto const check = [&](auto writes, std::string const& file) {  // the same object writes each time
    std::string const lock = file + ".lock";
    bool reached = false;
    auto const nested = [&] {
      BOOST_TEST(std::filesystem::exists(lock));
      auto other = writes;
      std::string const message = test::message_of<FileError>([&] { fit_with(other, [] {}); });
      BOOST_TEST(message == file +
                                ": is in use by another run, one of this process; wait for its end, or give this "
                                "run another path");
      BOOST_TEST(std::filesystem::exists(lock));
      reached = true;
    };
    fit_with(writes, nested);
    BOOST_TEST(reached);
    BOOST_TEST(!std::filesystem::exists(lock));
    BOOST_CHECK_THROW(fit_with(writes, [] { throw Killed(); }), Killed);
    BOOST_TEST(!std::filesystem::exists(lock));
    fit_with(writes, [] {});
    BOOST_TEST(!std::filesystem::exists(lock));
  };
  std::string const root = std::filesystem::canonical(folder.root).string();
  check(BackupAndRestore{.path = root + "/run.npz"}, root + "/run.npz");
  check(ModelCheckpoint<"loss">{.path = root + "/best.npz", .save_best_only = true}, root + "/best.npz");
  check(ModelCheckpoint<"loss">{.path = root + "/{epoch:02d}.npz"}, root + "/{epoch:02d}.npz");
  check(CSVLogger{.path = root + "/log.csv"}, root + "/log.csv");
  CSVLogger shared{.path = "/dev/null"};
  fit_with(shared, [&] {
    CSVLogger other{.path = "/dev/null"};
    fit_with(other, [] {});
    BOOST_TEST(!std::filesystem::exists("/dev/null.lock"));
  });
  ModelCheckpoint<"loss"> in_folders{.path = root + "/{epoch}/m.npz"};
  fit_with(in_folders, [] {});
  BOOST_TEST(std::filesystem::exists(root + "/2/m.npz"));
}

BOOST_AUTO_TEST_CASE(a_signal_is_the_programs_again_whatever_ends_fit) {
  test::Folder folder;
  auto const train = test::mlp_samples<float>(samples);
  OneDeviceStrategy<> const strategy;
  auto model = compile<float>(strategy, architecture(), Adam{}, SparseCategoricalCrossentropy{.from_logits = true});
  auto const is_default = [](int signal) {
    struct sigaction action{};
    return ::sigaction(signal, nullptr, &action) == 0 && action.sa_handler == SIG_DFL;
  };
  BackupAndRestore backup{.path = folder.file("run.npz"), .signals = {SIGUSR2}};  // outlives each fit
  auto const ends = [&](auto callback) {
    bool watched = false, thrown = false;
    LambdaCallback const hook{.on_train_batch_end = [&](auto& run) {
      watched = !is_default(SIGUSR2);
      callback(run);
    }};
    try {
      fit(strategy, model, train.data().batch(GlobalBatch{5}), {.verbose = false}, hook, backup);
    } catch (Error const&) {
      thrown = true;
    }
    BOOST_TEST(watched);
    BOOST_TEST(is_default(SIGUSR2));
    return thrown;
  };
  BOOST_TEST(!ends([](auto&) {}));
  BOOST_TEST(ends([](auto&) { throw Error("no more"); }));
  BOOST_TEST(ends([](auto&) { std::raise(SIGUSR2); }));
}
