// ranks: 1 2 3
// Every rank has a client: gradients by MPI between two programs; state goes from strategy to strategy through files.
#define BOOST_TEST_MODULE pjrt_ranks
#include "support/kokkos_fixture.hpp"

#include <cstddef>
#include <filesystem>
#include <string>
#include <vector>

#include <unistd.h>

#include "pjrt/training.hpp"
#include "support/environment_variables.hpp"
#include "trireme/callbacks/backup_and_restore.hpp"
#include "trireme/callbacks/model_checkpoint.hpp"
#include "trireme/losses/sparse_categorical_crossentropy.hpp"
#include "trireme/metrics/accuracy.hpp"
#include "trireme/optimizers/adam.hpp"
#include "trireme/strategies/data_parallel/multi_worker_mirrored.hpp"
#include "trireme/strategies/data_parallel/one_device.hpp"

using namespace trireme;

namespace {

auto const make = [](auto const& strategy) {
  return compile(strategy, test::mlp(), Adam{.learning_rate = 1e-2}, SparseCategoricalCrossentropy{.from_logits = true},
                 Accuracy{}, CompileOptions{.seed = 4});
};

/// One folder for all ranks, gone at the end.
struct SharedFolder {
  SharedFolder() {
    std::vector<int> chief{static_cast<int>(::getpid())};
    test::environment().world().broadcast(chief);
    path = std::filesystem::temp_directory_path() / ("trireme_pjrt_" + std::to_string(chief[0]));
    std::filesystem::create_directories(path);
  }
  ~SharedFolder() {
    if (test::environment().world().is_chief()) std::filesystem::remove_all(path);
  }
  std::filesystem::path path;
};

}  // namespace

BOOST_AUTO_TEST_CASE(fifty_steps_on_ranks_with_replicas_are_those_of_one_device) {
  auto const samples = test::mlp_samples<float>(101), others = test::mlp_samples<float>(41, 2);
  auto const train = samples.weighted_data().shuffle(101, 3).batch(GlobalBatch{20});  // the last batch: one sample
  auto const tests = others.data().batch(GlobalBatch{16});
  auto const reference = test::run(OneDeviceStrategy<>(), make, train, tests, 9);
  BOOST_TEST(reference.first.engine().iteration() >= 50u);
  auto const& world = test::environment().world();
  for (std::size_t replicas = 1; replicas <= 2; ++replicas)
    BOOST_TEST_CONTEXT(replicas << " replicas on each of " << world.size() << " ranks") {
      MultiWorkerPjrtStrategy const strategy(world, test::pjrt_strategy(replicas));
      auto const run = test::run(strategy, make, train, tests, 9);
      test::check_same_run(run, reference);
      test::check_equal_on_all(world, run.first);
    }
}

BOOST_AUTO_TEST_CASE(ranks_are_the_processes_of_a_pod_in_its_order) {
  auto const samples = test::mlp_samples<float>(20);
  auto const data = samples.data().batch(GlobalBatch{7});
  auto const& world = test::environment().world();
  std::string hosts = "host0";
  for (std::size_t rank = 1; rank < world.size(); ++rank) hosts += ",host" + std::to_string(rank);
  auto const train = [&](std::size_t process) {
    test::EnvironmentVariables const pod({{"TPU_WORKER_HOSTNAMES", hosts},
                                          {"TPU_WORKER_ID", std::to_string(process)},
                                          {"TPU_LIBRARY_PATH", test::plugin()}});
    MultiWorkerPjrtStrategy const strategy(world, TPUStrategy(1));
    auto model = make(strategy);
    fit(strategy, model, data, {.epochs = 1, .verbose = false});
    test::check_equal_on_all(world, model);
  };
  train(world.rank());
  if (world.size() == 1) return;
  BOOST_CHECK_EXCEPTION(train(0), ValueError, [](ValueError const& error) {
    return std::string(error.what()).find("on rank 1: rank 1 of") == 0;
  });
}

BOOST_AUTO_TEST_CASE(ranks_with_other_numbers_of_replicas_are_refused) {
  auto const& world = test::environment().world();
  if (world.size() == 1) return;
  MultiWorkerPjrtStrategy const strategy(world, test::pjrt_strategy(world.rank() == 1 ? 2 : 1));
  BOOST_CHECK_EXCEPTION(make(strategy), Error, [](Error const& error) {
    return error.uniform() && std::string(error.what()) == "rank 1 has another number of replicas than rank 0";
  });
}

namespace {

/// The complete state of a model, on the chief.
template <class Model>
auto state_of(Model const& model) {
  trireme::detail::HostState<float> state;
  model.engine().gather_state(state);
  return state;
}

/// Trains half of a run under one strategy and the rest under another, which takes up what ModelCheckpoint or
/// BackupAndRestore have written.
struct TwoHalves {
  SharedFolder folder{};
  test::Samples<float> samples = test::mlp_samples<float>(60);
  Communicator const& world = test::environment().world();

  auto data() const { return samples.data().shuffle(60, 5).batch(GlobalBatch{7}); }  // 9 batches an epoch

  template <class First, class Second, class Reference>
  void check(First const& first, Second const& second, Reference const& reference, std::string const& name) {
    auto const file = [&](std::string const& end) { return (folder.path / (name + end)).string(); };
    auto before = make(first);
    fit(first, before, data(), {.epochs = 2, .verbose = false},
        ModelCheckpoint<"loss">{.path = file("_epoch{epoch}.npz")},
        BackupAndRestore{.path = file("_run.npz"), .delete_checkpoint = false});
    world.barrier();
    for (std::string const& path : {file("_epoch2.npz"), file("_run.npz")}) {
      auto after = make(second);
      after.load_weights(path);
      BOOST_TEST(after.engine().iteration() == 18u);
      auto const written = state_of(before), read = state_of(after);
      BOOST_TEST((read.parameters == written.parameters));
      BOOST_TEST((read.slots == written.slots));
      if (world.is_chief()) BOOST_TEST(test::distance(read.slots.at(1), std::vector<float>(read.slots[1].size())) > 0);
      fit(second, after, data(), {.epochs = 4, .initial_epoch = 2, .verbose = false});
      test::check_same_weights(after, reference, test::program_tolerance);
      auto const expected = state_of(reference), found = state_of(after);
      BOOST_TEST(found.iteration == expected.iteration);
      for (std::size_t slot = 0; slot < found.slots.size(); ++slot)
        BOOST_TEST(test::distance(found.slots[slot], expected.slots[slot]) <= test::program_tolerance);
    }
    // To go on within the run itself takes the strategy that it had, which has values of its own.
    auto elsewhere = make(second);
    BOOST_CHECK_EXCEPTION(
        fit(second, elsewhere, data(), {.epochs = 4, .verbose = false}, BackupAndRestore{.path = file("_run.npz")}),
        FileError, [](FileError const& error) {
          return std::string(error.what())
                     .find("a run goes on with the strategy, validation and callbacks that it had") !=
                 std::string::npos;
        });
  }
};

}  // namespace

BOOST_FIXTURE_TEST_CASE(checkpoints_go_on_under_another_strategy_with_the_optimizers_state_in_both_directions,
                        TwoHalves) {
  MultiWorkerPjrtStrategy const programs(world, test::pjrt_strategy(2));
  MultiWorkerMirroredStrategy<> const kernels(world);
  auto reference = make(kernels);
  fit(kernels, reference, data(), {.epochs = 4, .verbose = false});
  check(programs, kernels, reference, "programs");
  check(kernels, programs, reference, "kernels");
}
