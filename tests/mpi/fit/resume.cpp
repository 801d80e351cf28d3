// ranks: 1 2 3   labels: law
// Law 4 on ranks: under each strategy a run that was interrupted after any step and resumed is the run, to the bit.
#define BOOST_TEST_MODULE resume
#include "support/kokkos_fixture.hpp"
#include "support/small_training.hpp"
#include "support/uniform_error.hpp"

#include <algorithm>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <limits>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <unistd.h>

#include <fmt/format.h>

#include "trireme/callbacks/backup_and_restore.hpp"
#include "trireme/callbacks/early_stopping.hpp"
#include "trireme/callbacks/lambda_callback.hpp"
#include "trireme/callbacks/model_checkpoint.hpp"
#include "trireme/callbacks/snapshot.hpp"
#include "trireme/callbacks/terminate_on_nan.hpp"
#include "trireme/compile.hpp"
#include "trireme/data/from_local_slices.hpp"
#include "trireme/fit.hpp"
#include "trireme/layers/layer_normalization.hpp"
#include "trireme/losses/sparse_categorical_crossentropy.hpp"
#include "trireme/metrics/accuracy.hpp"
#include "trireme/mpi/fault/status_record.hpp"
#include "trireme/optimizers/adam.hpp"
#include "trireme/optimizers/sgd.hpp"
#include "trireme/strategies/data_parallel/accumulate.hpp"
#include "trireme/strategies/data_parallel/compressed.hpp"
#include "trireme/strategies/data_parallel/local_sgd.hpp"
#include "trireme/strategies/data_parallel/multi_worker_mirrored.hpp"
#include "trireme/strategies/sharded/sharded.hpp"
#include "unit/io/folder.hpp"

using namespace trireme;

namespace {

Communicator const& world() { return test::environment().world(); }

/// A folder of all ranks.
struct SharedFolder {
  std::string path;
  SharedFolder() {
    path = (std::filesystem::temp_directory_path() / "trireme_resume_XXXXXX").string();
    if (world().is_chief()) BOOST_REQUIRE(::mkdtemp(path.data()) != nullptr);
    world().broadcast(path);
  }
  ~SharedFolder() {
    world().barrier();
    if (world().is_chief()) std::filesystem::remove_all(path);
  }
#ifdef TRIREME_HAVE_HDF5
  std::string file() const { return path + "/run.h5"; }
#else
  std::string file() const { return path + "/run.npz"; }
#endif
};

struct Killed {};
constexpr std::size_t never = ~std::size_t{0};

/// The end of a run after `steps` batches: all ranks are killed, or the one that is given receives a signal.
struct Killer {
  std::size_t steps, signalled;
  Killer(std::size_t after, std::size_t rank = never) : steps(after), signalled(rank) {}
  void on_train_batch_end(auto&) {
    if (steps-- > 0) return;
    if (signalled == never) throw Killed();
    if (signalled == world().rank()) std::raise(SIGUSR1);
  }
};

constexpr std::size_t batches = 5, epochs = 3;

struct Result {
  std::uint64_t weights = 0;
  History history;
};

template <class Strategy>
Result train(Strategy const& strategy, BackupAndRestore backup, Killer killer, std::size_t samples = 22) {
  auto const train = test::mlp_samples<float>(samples), tests = test::mlp_samples<float>(7, 2);
  auto model = compile(strategy,
                       Sequential{Input<test::mlp_inputs>{}, Dense<9, Tanh>{.kernel_regularizer = L2(1e-2)},
                                  LayerNormalization<>{}, Dropout{.rate = 0.25f}, Dense<test::classes>{}},
                       Adam{.learning_rate = 0.03}, SparseCategoricalCrossentropy{.from_logits = true}, Accuracy{},
                       CompileOptions{.seed = 6});
  auto history = fit(strategy, model, train.data().shuffle(samples, 4).batch(GlobalBatch{5}),
                     validation(tests.data().batch(GlobalBatch{3})), {.epochs = epochs, .verbose = false}, killer,
                     EarlyStopping<"val_loss">{.min_delta = 0.03, .patience = 1, .restore_best_weights = true}, backup);
  std::uint64_t bits = 0;
  for (auto const& name : model.weight_names()) {
    auto const weights = model.weights(name);
    bits = data::hash_combine(bits, data::hash_bytes(weights.data(), weights.size() * sizeof(float)));
  }
  return {bits, std::move(history)};
}

template <class Strategy>
void check_law(Strategy const& strategy) {
  SharedFolder whole;
  auto const expected = train(strategy, {.path = whole.file()}, never);
  for (auto const& [freq, steps] : {std::pair{0u, batches}, {2u, batches + 1}, {3u, 2 * batches + 2}}) {
    SharedFolder folder;
    Result result;
    bool done = false;
    std::size_t runs = 0;
    for (; !done && runs < 20; ++runs) try {
        result = train(strategy, {.path = folder.file(), .save_freq = std::size_t{freq}}, steps);
        done = true;
      } catch (Killed const&) {
      }
    BOOST_TEST_CONTEXT("a checkpoint each " << freq << " batches, killed after " << steps) {
      BOOST_TEST(done);
      BOOST_TEST(runs > 1u);
      BOOST_TEST(result.weights == expected.weights);
      BOOST_TEST((result.history.values == expected.history.values));
    }
  }

  // A signal to any one rank, in the middle of an epoch and at its end.
  SharedFolder folder;
  BackupAndRestore const backup{.path = folder.file(), .signals = {SIGTERM, SIGUSR1}};
  std::size_t const last = world().size() - 1;
  std::string const left = "; " + folder.file() + " holds the run, and the same program goes on from there";
  BOOST_TEST(test::message_of<Interrupted>([&] { train(strategy, backup, {2, last}); }) ==
             "a signal interrupted training in epoch 1 after 3 of its batches" + left);
  BOOST_TEST(test::message_of<Interrupted>([&] { train(strategy, backup, {1, 0}); }) ==
             "a signal interrupted training in epoch 1 after 5 of its batches" + left);
  BOOST_TEST(test::message_of<Interrupted>([&] { train(strategy, backup, {0, last}); }) ==
             "a signal interrupted training in epoch 2 after 1 of its batches" + left);
  Result const result = train(strategy, backup, never);
  BOOST_TEST(result.weights == expected.weights);
  BOOST_TEST((result.history.values == expected.history.values));
}

}  // namespace

BOOST_AUTO_TEST_CASE(gradients_in_shared_memory) { check_law(MultiWorkerMirroredStrategy<>(world())); }
BOOST_AUTO_TEST_CASE(gradients_in_messages) {
  check_law(MultiWorkerMirroredStrategy<>(world(), {}, 256, Exchange::messages));
}
BOOST_AUTO_TEST_CASE(gradients_in_pieces) { check_law(Accumulate<MultiWorkerMirroredStrategy<>, 2>(world())); }
BOOST_AUTO_TEST_CASE(what_compression_left_out_is_not_lost) {
  check_law(Compressed(MultiWorkerMirroredStrategy<>(world()), TopK{.fraction = 0.1}));
}
BOOST_AUTO_TEST_CASE(weights_of_each_ranks_own) { check_law(LocalSGD<MultiWorkerMirroredStrategy<>, 3>(world())); }
BOOST_AUTO_TEST_CASE(weights_of_each_ranks_own_with_an_outer_optimizer_and_compressed_changes) {
  using Short = Compressed<MultiWorkerMirroredStrategy<>, TopK>;
  check_law(LocalSGD<Short, 3, SGD>(Short(MultiWorkerMirroredStrategy<>(world()), TopK{.fraction = 0.5}),
                                    SGD{.learning_rate = 0.8, .momentum = 0.2, .nesterov = true}));
}
BOOST_AUTO_TEST_CASE(shards_of_everything) { check_law(ShardedStrategy<Kokkos::DefaultExecutionSpace, 3>(world())); }

// A batch in other pieces has sums in another order.
BOOST_AUTO_TEST_CASE(a_batch_in_another_number_of_pieces_is_another_placement) {
  using Ranks = MultiWorkerMirroredStrategy<>;
  SharedFolder folder;
  BackupAndRestore backup{.path = folder.file(), .save_freq = 2};
  BOOST_CHECK_THROW(train(Ranks(world()), backup, 3), Killed);
  std::string const two = test::message_of<FileError>([&] { train(Accumulate<Ranks, 2>(world()), backup, never); });
  BOOST_TEST(two.find("holds a run that was placed otherwise: ") != std::string::npos);
  BOOST_TEST(two.find("in 2 pieces") != std::string::npos);
  backup.placement = Placement::any;
  BOOST_CHECK_THROW(train(Accumulate<Ranks, 2>(world()), backup, 5), Killed);
  backup.placement = Placement::same;
  BOOST_TEST(test::message_of<FileError>([&] {
               train(Accumulate<Ranks, 3>(world()), backup, never);
             }).find("in 3 pieces") != std::string::npos);
  BOOST_TEST(test::message_of<FileError>([&] {
               train(Ranks(world()), backup, never);
             }).find("holds a run that was placed otherwise: ") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(what_does_not_fit_a_checkpoint_is_named_on_all_ranks) {
  MultiWorkerMirroredStrategy<> const strategy(world());
  SharedFolder folder;
  BackupAndRestore const backup{.path = folder.file(), .save_freq = 2};
  BOOST_CHECK_THROW(train(strategy, backup, 3), Killed);
  BOOST_TEST(test::message_of<FileError>([&] { train(strategy, backup, never, 21); }) ==
             folder.file() +
                 ": holds a run that was trained on other data, or with other class weights or steps per epoch");
  std::string const moved = test::message_of<FileError>(
      [&] { train(MultiWorkerMirroredStrategy<>(world(), {}, 256, Exchange::messages), backup, never); });
  if (world().size() > 1)
    BOOST_TEST(moved == folder.file() +
                            ": holds a run that exchanged gradients otherwise: in shared memory there, and in buckets "
                            "of 256 bytes here; BackupAndRestore{.placement = Placement::any} goes on here, where "
                            "results no longer agree to the bit");

  if (world().size() > 1) {
    // Placement::any is no remedy for another strategy.
    BOOST_TEST(test::message_of<FileError>([&] {
                 train(ShardedStrategy<Kokkos::DefaultExecutionSpace, 3>(world()), backup, never);
               }) == folder.file() +
                         ": has no value 'part/penalties': a run goes on with the strategy, validation and callbacks "
                         "that it had, these in their order");
    // Fewer ranks.
    Communicator const part = world().split(world().rank() == 0 ? 0 : 1);
    std::string const fewer =
        test::message_of<FileError>([&] { train(MultiWorkerMirroredStrategy<>(part), backup, never); });
    BOOST_TEST(fewer.find("holds a run that was placed otherwise: ") != std::string::npos);
    BOOST_TEST(fewer.find(fmt::format("{} processes", world().size())) != std::string::npos);
    world().barrier();
  }
  train(strategy, backup, never);  // the run itself goes on
}

BOOST_AUTO_TEST_CASE(damage_is_found_by_the_chief_and_all_ranks_go_back) {
  MultiWorkerMirroredStrategy<> const strategy(world());
  SharedFolder folder, whole;
  auto const expected = train(strategy, {.path = whole.file()}, never);
  BackupAndRestore const backup{.path = folder.file(), .save_freq = 2};
  BOOST_CHECK_THROW(train(strategy, backup, 7), Killed);
  if (world().is_chief()) std::filesystem::resize_file(folder.file(), 1000);
  auto const result = train(strategy, backup, never);
  BOOST_TEST(result.weights == expected.weights);
  BOOST_TEST((result.history.values == expected.history.values));
}

/// One rank alone computes the NaN. The orderly end removes the backup, as that of a complete run.
BOOST_AUTO_TEST_CASE(an_error_for_a_loss_that_is_no_number_is_that_of_all_ranks_and_leaves_the_backup) {
  MultiWorkerMirroredStrategy<> const strategy(world());
  SharedFolder folder;
  BackupAndRestore backup{.path = folder.file(), .save_freq = 2};
  auto samples = test::mlp_samples<float>(20);
  samples.x(17, 0) = std::numeric_limits<float>::quiet_NaN();  // in batch 4
  auto const train_until = [&](TerminateOnNaN const& callback) {
    auto model =
        compile(strategy, test::mlp(), SGD{.learning_rate = 0.1}, SparseCategoricalCrossentropy{.from_logits = true});
    fit(strategy, model, samples.data().batch(GlobalBatch{5}), {.epochs = 2, .verbose = false}, callback, backup);
    BOOST_TEST(model.engine().iteration() == 4u);
  };
  auto const is_there = [&] {
    world().barrier();
    bool const found = std::filesystem::exists(folder.file());
    world().barrier();
    return found;
  };
  BOOST_TEST(test::uniform_message_of<Error>(world(), [&] { train_until({.raise_error = true}); }) ==
             "TerminateOnNaN: the loss is nan in epoch 1 after batch 4");
  BOOST_TEST(is_there());
  train_until({});
  BOOST_TEST(!is_there());
}

BOOST_AUTO_TEST_CASE(messages_name_no_backup_that_a_complete_run_has_removed) {
  MultiWorkerMirroredStrategy<> const strategy(world());
  SharedFolder folder;
  auto const samples = test::mlp_samples<float>(20);
  auto model =
      compile(strategy, test::mlp(), SGD{.learning_rate = 0.1}, SparseCategoricalCrossentropy{.from_logits = true});
  auto const train = [&](auto... callbacks) {
    fit(strategy, model, samples.data().batch(GlobalBatch{5}), {.epochs = 2, .verbose = false}, callbacks...);
    return detail::status().checkpoint();
  };
  std::string const weights = folder.path + "/weights.npz";
  BOOST_TEST(train(BackupAndRestore{.path = folder.file(), .delete_checkpoint = false}) == folder.file());
  BOOST_TEST(train(BackupAndRestore{.path = folder.file()}) != folder.file());
  BOOST_TEST(train(BackupAndRestore{.path = folder.file()}, ModelCheckpoint<"loss">{.path = weights}) == weights);
}

BOOST_AUTO_TEST_CASE(a_backup_at_a_file_of_weights_is_refused_on_all_ranks_and_changes_nothing) {
  MultiWorkerMirroredStrategy<> const strategy(world());
  SharedFolder folder;
  auto const samples = test::mlp_samples<float>(20);
  auto model =
      compile(strategy, test::mlp(), SGD{.learning_rate = 0.1}, SparseCategoricalCrossentropy{.from_logits = true});
#ifdef TRIREME_HAVE_HDF5
  std::vector<std::string> const names{"/model.weights.h5", "/model.npz"};
#else
  std::vector<std::string> const names{"/model.npz"};
#endif
  for (std::string const& name : names) {
    std::string const path = folder.path + name;
    auto const train = [&](auto callback) {
      fit(strategy, model, samples.data().batch(GlobalBatch{5}), {.epochs = 1, .verbose = false}, callback);
    };
    train(ModelCheckpoint<"loss">{.path = path});
    auto const weights = test::weight_bits(model);
    BOOST_TEST(test::uniform_message_of<FileError>(world(), [&] { train(BackupAndRestore{.path = path}); }) ==
               (world().size() > 1 ? "on rank 0: " : "") + path +
                   ": holds weights or other data and no saved run; give the backup another path");
    BOOST_TEST(!std::filesystem::exists(path + ".damaged"));
    train(LambdaCallback{.on_train_begin = [](auto&) {}});
    BOOST_TEST(test::weight_bits(model) != weights);
    model.load_weights(path);
    BOOST_TEST(test::weight_bits(model) == weights);
    world().barrier();
  }
}

BOOST_AUTO_TEST_CASE(a_checkpoint_of_weights_at_a_backup_is_refused_on_all_ranks_and_the_backup_stays) {
  MultiWorkerMirroredStrategy<> const strategy(world());
  SharedFolder folder;
  auto const samples = test::mlp_samples<float>(20);
#ifdef TRIREME_HAVE_HDF5
  std::vector<std::string> const endings{".weights.h5", ".npz"};
#else
  std::vector<std::string> const endings{".npz"};
#endif
  for (std::string const& ending : endings) {
    auto model =
        compile(strategy, test::mlp(), SGD{.learning_rate = 0.1}, SparseCategoricalCrossentropy{.from_logits = true});
    auto const train = [&](std::size_t count, auto&&... callbacks) {
      fit(strategy, model, samples.data().batch(GlobalBatch{5}), {.epochs = count, .verbose = false}, callbacks...);
    };
    std::string const path = folder.path + "/1" + ending, field = folder.path + "/{epoch}" + ending;
    BOOST_CHECK_THROW(train(2, BackupAndRestore{.path = path}, Killer{6}), Killed);
    auto const error = (world().size() > 1 ? "on rank 0: " : "") + path +
                       ": holds a saved run, which a file of weights would replace; give the weights another path, or "
                       "remove the file";
    auto const step = model.engine().iteration();
    BOOST_TEST(test::uniform_message_of<FileError>(world(), [&] { train(1, ModelCheckpoint<"loss">{.path = path}); }) ==
               error);
    BOOST_TEST(model.engine().iteration() == step);  // before training
    BOOST_TEST(test::uniform_message_of<FileError>(world(),
                                                   [&] { train(1, ModelCheckpoint<"loss">{.path = field}); }) == error);
    train(2, BackupAndRestore{.path = path}, Killer{never});  // the run goes on
    BOOST_TEST(model.engine().iteration() == 8u);
    train(1, ModelCheckpoint<"loss">{.path = path});
    train(1, ModelCheckpoint<"loss">{.path = field});  // over a file of weights
    world().barrier();
  }
}

BOOST_AUTO_TEST_CASE(a_complete_run_leaves_the_backup_of_another_that_took_its_file_over) {
  MultiWorkerMirroredStrategy<> const strategy(world());
  SharedFolder folder;
  auto const samples = test::mlp_samples<float>(20);
  auto model =
      compile(strategy, test::mlp(), SGD{.learning_rate = 0.1}, SparseCategoricalCrossentropy{.from_logits = true});
  auto const take_over = [&](auto&) {  // as a run does that has seen no sign of life of this one
    if (!world().is_chief()) return;
    std::filesystem::remove(folder.file() + ".lock");
    for (char const* ending : {".lock", "", ".previous"}) std::ofstream(folder.file() + ending) << "another's";
  };
  auto const history = fit(strategy, model, samples.data().batch(GlobalBatch{5}), {.epochs = 2, .verbose = false},
                           BackupAndRestore{.path = folder.file()}, LambdaCallback{.on_train_end = take_over});
  BOOST_TEST(history.epochs.size() == 2u);
  world().barrier();
  for (char const* ending : {".lock", "", ".previous"}) {
    std::ifstream file(folder.file() + ending);
    BOOST_TEST(std::string(std::istreambuf_iterator<char>(file), {}) == "another's");
  }
}

/// Sets another rate on one rank when the run ends, which all ranks then notice.
struct DiffersAtTheEnd {
  bool differs;
  void on_train_end(auto& run) const {
    if (differs && world().is_chief()) run.set_learning_rate(0.125);
  }
};

BOOST_AUTO_TEST_CASE(an_error_after_the_last_hook_of_training_leaves_the_backup) {
  MultiWorkerMirroredStrategy<> const strategy(world());
  SharedFolder folder;
  BackupAndRestore backup{.path = folder.file()};
  auto const samples = test::mlp_samples<float>(20);
  auto const message = [&](bool differs) {
    auto model =
        compile(strategy, test::mlp(), SGD{.learning_rate = 0.1}, SparseCategoricalCrossentropy{.from_logits = true});
    return test::message_of<Error>([&] {
      fit(strategy, model, samples.data().batch(GlobalBatch{5}), {.epochs = 2, .verbose = false}, backup,
          DiffersAtTheEnd{differs});
    });
  };
  auto const is_there = [&] {
    world().barrier();
    bool const found = std::filesystem::exists(folder.file());
    world().barrier();
    return found;
  };
  bool const several = world().size() > 1;
  BOOST_TEST((message(true).find("learning rate") != std::string::npos) == several);
  BOOST_TEST(is_there() == several);
  BOOST_TEST(message(false) == "");
  BOOST_TEST(!is_there());
}

namespace {

/// Callback with a value, weights and a value of each rank's own, whose `state` throws on loading or on saving.
struct Refusing {
  int value = 0;
  bool refuses = false, saves = true;
  std::size_t of_rank = world().rank();
  Snapshot kept{};
  void on_epoch_end(auto& run) { kept.take(run); }
  void state(auto& archive) {
    archive("value", value);
    archive("of_rank", of_rank);
    if ((archive.resumes() || !saves) && refuses) throw std::runtime_error("another value");
    archive("kept", kept);  // a collective
  }
};

/// Goes on from the files in turn, as far as they fit.
struct Resuming {
  std::vector<std::string> files;
  Placement placement = Placement::same;
  void on_train_resume(auto& run) {
    for (std::string const& file : files) try {
        run.resume(file, placement);
      } catch (FileError const&) {
      }
  }
};

auto small_model(auto const& strategy) {
  return compile(strategy, test::mlp(), Adam{.learning_rate = 0.03}, SparseCategoricalCrossentropy{.from_logits = true},
                 CompileOptions{.seed = 6});
}

}  // namespace

BOOST_AUTO_TEST_CASE(an_error_of_a_callbacks_state_on_some_ranks_is_of_all_and_leaves_them_as_they_were) {
  MultiWorkerMirroredStrategy<> const strategy(world());
  SharedFolder folder;
  BackupAndRestore backup{.path = folder.file()};
  auto const samples = test::mlp_samples<float>(20), tests = test::mlp_samples<float>(7, 2);
  std::size_t const last = world().size() - 1;
  std::size_t seed = 4;
  auto const trains = [&](auto& model, auto&&... callbacks) {
    fit(strategy, model, samples.data().shuffle(20, seed).batch(GlobalBatch{5}),
        validation(tests.data().batch(GlobalBatch{3})), {.epochs = 2, .verbose = false}, callbacks...);
  };
  {
    auto killed = small_model(strategy);
    Refusing first{.value = 1};
    BOOST_CHECK_THROW(trains(killed, first, Killer{6}, backup), Killed);
  }
  {
    seed = 5;  // other data
    auto model = small_model(strategy);
    Refusing callback{.value = 5};
    BOOST_TEST(test::message_of<FileError>([&] {
                 trains(model, callback, Killer{never}, backup);
               }).find("other data") != std::string::npos);
    BOOST_TEST(callback.value == 5);
    BOOST_TEST(callback.of_rank == world().rank());
    seed = 4;
  }
  for (auto const& fails : {std::vector<std::size_t>{0, 1, 2}, {0}, {last}, {0, last}}) {
    auto model = small_model(strategy), expected = small_model(strategy);
    trains(model), trains(expected);
    bool const refuses = std::ranges::find(fails, world().rank()) != fails.end();
    bool const all = fails.size() >= world().size();
    Refusing callback{.value = 5, .refuses = refuses};
    BOOST_TEST(test::message_of<std::runtime_error>([&] { trains(model, callback, Killer{never}, backup); }) ==
               (refuses || all ? "another value" : fmt::format("on rank {}: another value", fails[0])));
    BOOST_TEST(callback.value == 5);
    BOOST_TEST(callback.of_rank == world().rank());
    BOOST_TEST(!callback.kept);
    BOOST_TEST(model.engine().iteration() == expected.engine().iteration());
    trains(model), trains(expected);
    BOOST_TEST(test::weight_bits(model) == test::weight_bits(expected));

    Refusing saving{.refuses = refuses, .saves = false};
    SharedFolder none;
    BackupAndRestore no_backup{.path = none.file()};
    BOOST_TEST(test::message_of<std::runtime_error>([&] { trains(model, saving, no_backup); }) ==
               (refuses || all ? "another value" : fmt::format("on rank {}: another value", fails[0])));
    BOOST_TEST(!std::filesystem::exists(none.file()));
  }
}

BOOST_AUTO_TEST_CASE(gradients_that_compression_left_out_are_the_same_after_a_run_was_refused) {
  SharedFolder folder;
  auto const samples = test::mlp_samples<float>(22);
  auto const made = [](Communicator const& ranks) {
    return Compressed(MultiWorkerMirroredStrategy<>(ranks), TopK{.fraction = 0.1});
  };
  auto const trains = [&](auto const& strategy, auto& model, std::size_t seed, std::size_t fits, auto&&... callbacks) {
    fit(strategy, model, samples.data().shuffle(22, seed).batch(GlobalBatch{5}), {.epochs = fits, .verbose = false},
        callbacks...);
  };
  std::string const good = folder.file(), bad = folder.path + "/bad.npz";
  for (std::string const& file : {good, bad}) {
    auto const strategy = made(world());
    auto killed = small_model(strategy);
    BOOST_CHECK_THROW(trains(strategy, killed, file == good ? 4 : 5, 3, Resuming{}, Killer{8},
                             BackupAndRestore{.path = file, .save_freq = 2}),
                      Killed);
  }
  // On all ranks, and on one alone, which adds in its next step what several had left out.
  Communicator const part = world().split(world().is_chief() ? 0 : 1);
  for (Communicator const* ranks : {&world(), &part}) {
    if (world().is_chief() || ranks == &world()) {
      auto const strategy = made(*ranks);
      auto const bits = [&](std::size_t before, std::vector<std::string> const& files) {
        auto model = small_model(strategy);
        if (before > 0) trains(strategy, model, 4, before);
        trains(strategy, model, 4, 3, Resuming{files, Placement::any});
        return test::weight_bits(model);
      };
      BOOST_TEST(bits(2, {bad}) == bits(2, {}));
      BOOST_TEST(bits(0, {good, bad}) == bits(0, {good}));
    }
    world().barrier();
  }
}

namespace {

/// Has values that are other ones on each rank, as many as no other rank has, and one that is the same on all.
struct Cells {
  std::vector<double> cells = std::vector<double>(world().rank() + 2, 0.25);
  std::vector<std::string> names = std::vector<std::string>(world().rank(), "a cell");
  std::optional<std::size_t> of_last{};
  std::size_t steps = 0;
  void on_train_batch_end(auto& run) {
    for (std::size_t i = 0; i < cells.size(); ++i) cells[i] += static_cast<double>((i + 1) * (world().rank() + 1));
    if (world().rank() + 1 == world().size()) of_last = run.epoch();
    ++steps;
  }
  void state(auto& archive) {
    archive("cells", cells);
    archive("names", names);
    archive("of_last", of_last);
    archive("steps", steps);
  }
};

}  // namespace

BOOST_AUTO_TEST_CASE(what_a_callback_has_on_each_rank_goes_on_with_the_run) {
  MultiWorkerMirroredStrategy<> const strategy(world());
  auto const samples = test::mlp_samples<float>(20);
  auto const trains = [&](Cells& cells, std::string const& file, std::size_t steps) {
    auto model = small_model(strategy);
    fit(strategy, model, samples.data().shuffle(20, 4).batch(GlobalBatch{5}), {.epochs = 3, .verbose = false}, cells,
        BackupAndRestore{.path = file, .save_freq = std::size_t{1}}, Killer(steps));
  };
  SharedFolder folder, other;
  Cells expected;
  trains(expected, folder.file(), never);
  for (std::size_t const steps : {1u, 6u, 9u}) {
    Cells killed, resumed{.cells = {}, .names = {"none", "of", "these", "values"}};
    BOOST_CHECK_THROW(trains(killed, other.file(), steps), Killed);
    trains(resumed, other.file(), never);
    BOOST_TEST(resumed.cells == expected.cells, boost::test_tools::per_element());
    BOOST_TEST(resumed.names == expected.names, boost::test_tools::per_element());
    BOOST_TEST((resumed.of_last == expected.of_last));
    BOOST_TEST(resumed.steps == 12u);
  }
}

namespace {

/// Names a value, or has a snapshot, on rank 0 alone.
struct OfOneRank {
  bool takes = false;
  Snapshot kept{};
  double value = 1;
  void on_train_batch_end(auto& run) {
    if (takes && world().is_chief()) kept.take(run);
  }
  void state(auto& archive) {
    if (!takes && world().is_chief()) archive("value", value);
    if (takes) archive("kept", kept);
  }
};

/// Has a vector, which it names only if it is not empty.
struct Unnamed {
  std::vector<double> cells{};
  void on_train_batch_end(auto&) {
    if (world().rank() != 1) cells.assign(2, 5);
  }
  void state(auto& archive) {
    if (!cells.empty()) archive("cells", cells);
  }
};

}  // namespace

BOOST_AUTO_TEST_CASE(values_that_some_ranks_do_not_name_are_an_error_of_all) {
  MultiWorkerMirroredStrategy<> const strategy(world());
  auto const samples = test::mlp_samples<float>(20);
  SharedFolder folder, none;
  auto const trains = [&](std::string const& file, std::size_t steps, auto& callback) {
    auto model = small_model(strategy);
    fit(strategy, model, samples.data().batch(GlobalBatch{5}), {.epochs = 2, .verbose = false}, callback,
        BackupAndRestore{.path = file, .save_freq = std::size_t{1}}, Killer(steps));
  };
  OfOneRank named, again;
  BOOST_CHECK_THROW(trains(folder.file(), 2, named), Killed);
  trains(folder.file(), never, again);  // each rank names what it named before

  Unnamed saved, fresh;
  BOOST_CHECK_THROW(trains(folder.file(), 2, saved), Killed);
  std::string const message = test::message_of<FileError>([&] { trains(folder.file(), never, fresh); });
  BOOST_TEST(message.find("values, of which this run knows") != std::string::npos, message);

  if (world().size() == 1) return;
  OfOneRank taking{.takes = true};
  BOOST_TEST(test::message_of<FileError>([&] { trains(none.file(), never, taking); }) ==
             none.file() + ": has the snapshot 'kept' on 1 of " + std::to_string(world().size()) + " processes");
}
