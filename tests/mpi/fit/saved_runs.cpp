// ranks: 3   labels: law
// A run that saves is the run that does not, to the bit; and a saved run goes on with other ranks and threads, to
// rounding, or to the bit under VirtualReplicas.
#define BOOST_TEST_MODULE saved_runs
#include "support/killer.hpp"
#include "support/kokkos_fixture.hpp"
#include "support/small_training.hpp"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "../../../examples/gossip/gossip_strategy.hpp"
#include "trireme/callbacks/backup_and_restore.hpp"
#include "trireme/callbacks/early_stopping.hpp"
#include "trireme/callbacks/lambda_callback.hpp"
#include "trireme/callbacks/model_checkpoint.hpp"
#include "trireme/callbacks/snapshot.hpp"
#include "trireme/compile.hpp"
#include "trireme/fit.hpp"
#include "trireme/losses/sparse_categorical_crossentropy.hpp"
#include "trireme/metrics/accuracy.hpp"
#include "trireme/optimizers/adam.hpp"
#include "trireme/optimizers/sgd.hpp"
#include "trireme/strategies/data_parallel/accumulate.hpp"
#include "trireme/strategies/data_parallel/compressed.hpp"
#include "trireme/strategies/data_parallel/local_sgd.hpp"
#include "trireme/strategies/data_parallel/multi_worker_mirrored.hpp"
#include "trireme/strategies/data_parallel/virtual_replicas.hpp"
#include "trireme/strategies/parameter_server/parameter_server.hpp"
#include "trireme/strategies/pipeline/pipeline.hpp"
#include "trireme/strategies/sharded/sharded.hpp"

using namespace trireme;

namespace {

using Space = Kokkos::DefaultExecutionSpace;

Communicator const& world() { return test::environment().world(); }

constexpr std::size_t samples = 22, batches = 5, epochs = 3, never = 1000;

using test::Killer;

/// What a hook of a user's own may save after any batch.
struct SavesWeights {
  std::string path;
  std::size_t every = never, batches = 0;
  Snapshot kept{};
  void on_train_batch_end(auto& run) {
    if (every == 0 || ++batches % every != 0) return;
    run.save_weights(path);
    kept.take(run);
  }
};

struct Saving {
  std::string folder;
  std::size_t every = never;
  std::size_t killed_after = never;
  Placement placement = Placement::same;
};

struct Result {
  std::vector<std::vector<double>> weights{};
  History history{};
};

/// Trains, or goes on with what is in the folder; nothing if it was killed.
template <class Strategy>
std::optional<Result> train(Strategy const& strategy, Saving const& saving) {
  auto const train = test::mlp_samples<double>(samples), tests = test::mlp_samples<double>(7, 2);
  auto model =
      compile<double>(strategy,
                      Sequential{Input<test::mlp_inputs>{}, Dense<9, Tanh>{.kernel_regularizer = L2(1e-2)},
                                 Dropout{.rate = 0.25f}, Dense<7, Tanh>{}, Dense<test::classes>{}},
                      Adam{.learning_rate = 0.01, .epsilon = 1e-3}, SparseCategoricalCrossentropy{.from_logits = true},
                      Accuracy{}, CompileOptions{.seed = 6});
  return test::unless_killed([&] {
    Result result;
    result.history = fit(
        strategy, model, train.data().shuffle(samples, 4).batch(GlobalBatch{5}).prefetch(2),
        validation(tests.data().batch(GlobalBatch{3})), {.epochs = epochs, .verbose = false},
        EarlyStopping<"val_loss">{.patience = 3, .restore_best_weights = true},
        ModelCheckpoint<"val_loss">{.path = saving.folder + "/{epoch}.npz", .save_freq = saving.every},
        SavesWeights{.path = saving.folder + "/hook.npz", .every = saving.every},
        BackupAndRestore{.path = saving.folder + "/run.npz", .save_freq = saving.every, .placement = saving.placement},
        Killer{saving.killed_after});
    if constexpr (requires { model.engine().roles(); })
      if (!model.engine().roles().is_worker(strategy.group().rank())) return result;  // a server has no whole weights
    for (auto const& name : model.weight_names()) {
      auto const values = model.weights(name);
      result.weights.emplace_back(values.begin(), values.end());
    }
    return result;
  });
}

/// A folder of all ranks.
struct SharedFolder {
  std::string path =
      (std::filesystem::temp_directory_path() /
       fmt::format("trireme_saved_{}",
                   world().broadcast(std::chrono::steady_clock::now().time_since_epoch().count()).value()))
          .string();
  SharedFolder() {
    if (world().is_chief()) std::filesystem::create_directory(path);
    world().barrier();
  }
  ~SharedFolder() {
    world().barrier();
    if (world().is_chief()) std::filesystem::remove_all(path);
  }
};

/// Runs on the first `ranks` ranks alone, while the others wait.
template <class Make>
std::optional<Result> train_on(std::size_t ranks, Saving const& saving, Make const& make) {
  Communicator const part = world().split(world().rank() < ranks ? 0 : 1);
  std::optional<Result> result;
  if (world().rank() < ranks) result = train(make(part), saving);
  world().barrier();
  return result;
}

void check_same(Result const& result, Result const& expected, double limit) {
  for (std::size_t i = 0; i < std::min(result.weights.size(), expected.weights.size()); ++i) {
    double const d = test::distance(result.weights[i], expected.weights[i]);
    BOOST_TEST(d <= limit, "weights " << i << " differ by " << d << " in norm, relative");
  }
  if (limit == 0)
    BOOST_TEST((result.history.values == expected.history.values));
  else
    test::check_same_history(result.history, expected.history, limit);
}

template <class Make>
void check_saving_changes_nothing(Make const& make) {
  SharedFolder folder;
  for (std::size_t const ranks : {2u, 3u}) {
    auto const expected = train_on(ranks, {.folder = folder.path}, make);
    auto const result = train_on(ranks, {.folder = folder.path, .every = 2}, make);
    if (result) BOOST_TEST_CONTEXT(ranks << " ranks")
    check_same(*result, *expected, 0);
  }
}

constexpr double to_the_bit = 0, to_rounding = test::tolerance<double>;

/// Killed in an epoch and between two, once and twice. `limit` 0: to the bit.
template <class Make>
void check_goes_on_elsewhere(double limit, Make const& make) {
  SharedFolder folder;
  using Ranks = std::vector<std::size_t>;
  for (Ranks const& ranks : {Ranks{2, 1}, {2, 3}, {1, 2}, {3, 1, 2}})
    for (auto const& [every, steps] : {std::pair{2u, 3u}, {0u, batches + 2}}) {
      auto const expected = train_on(ranks[0], {.folder = folder.path}, make);
      std::optional<Result> last;
      for (std::size_t i = 0; i < ranks.size(); ++i)
        last = train_on(ranks[i],
                        {.folder = folder.path,
                         .every = every,
                         .killed_after = i + 1 < ranks.size() ? steps : never,
                         .placement = Placement::any},
                        make);
      if (last && expected) BOOST_TEST_CONTEXT(fmt::format("from {} to {} ranks", ranks[0], ranks.back()))
      check_same(*last, *expected, limit);
    }
}

/// Of results that depend on the number of ranks: the run goes on, and comes to its end.
template <class Make>
void check_ends_elsewhere(Make const& make) {
  SharedFolder folder;
  for (auto const& [from, to] : {std::pair{2u, 1u}, {2u, 3u}, {1u, 2u}}) {
    train_on(from, {.folder = folder.path, .every = 2, .killed_after = 7, .placement = Placement::any}, make);
    auto const result = train_on(to, {.folder = folder.path, .every = 2, .placement = Placement::any}, make);
    if (!result) continue;
    auto const& losses = result->history["loss"];
    BOOST_TEST(losses.size() == epochs);
    BOOST_TEST(losses.back() < losses.front());
  }
}

constexpr auto mirrored = [](Communicator const& part) { return MultiWorkerMirroredStrategy<>(part); };
constexpr auto messages = [](Communicator const& part) {
  return MultiWorkerMirroredStrategy<>(part, {}, 256, Exchange::messages);
};
constexpr auto pieces = [](Communicator const& part) { return Accumulate<MultiWorkerMirroredStrategy<>, 2>(part); };
constexpr auto compressed = [](Communicator const& part) {
  return Compressed(MultiWorkerMirroredStrategy<>(part), TopK{.fraction = 0.2});
};
constexpr auto shards = [](Communicator const& part) { return ShardedStrategy<Space, 3>(part); };
constexpr auto stages = [](Communicator const& part) { return PipelineStrategy<Space>(part, {.micro_batches = 2}); };
constexpr auto servers = [](Communicator const& part) {
  return ParameterServerStrategy<Space>(part, {.servers = part.size() == 3 ? 2u : 1u, .staleness = 0});
};
constexpr auto virtual_replicas = [](Communicator const& part) {
  return VirtualReplicas<MultiWorkerMirroredStrategy<>, 4>(part);
};
constexpr auto gossip = [](Communicator const& part) { return GossipStrategy<Space>(part); };

}  // namespace

BOOST_AUTO_TEST_CASE(saving_changes_nothing) {
  check_saving_changes_nothing(mirrored);
  check_saving_changes_nothing(messages);
  check_saving_changes_nothing(pieces);
  check_saving_changes_nothing(compressed);
  check_saving_changes_nothing(shards);
  check_saving_changes_nothing(stages);
  check_saving_changes_nothing(servers);
  check_saving_changes_nothing(virtual_replicas);
  check_saving_changes_nothing(gossip);
}

BOOST_AUTO_TEST_CASE(a_saved_run_goes_on_with_other_ranks_to_rounding) {
  check_goes_on_elsewhere(to_rounding, mirrored);
  check_goes_on_elsewhere(to_rounding, messages);
  check_goes_on_elsewhere(to_rounding, pieces);
  check_goes_on_elsewhere(to_rounding, shards);
  check_goes_on_elsewhere(to_rounding, stages);
  check_goes_on_elsewhere(to_rounding, servers);
}

BOOST_AUTO_TEST_CASE(a_saved_run_goes_on_with_other_ranks_to_the_bit_where_virtual_replicas_say_so) {
  check_goes_on_elsewhere(to_the_bit, virtual_replicas);
}

BOOST_AUTO_TEST_CASE(what_ranks_have_of_their_own_is_merged_where_there_are_others) {
  check_ends_elsewhere(compressed);
  check_ends_elsewhere(gossip);
}

BOOST_AUTO_TEST_CASE(a_snapshot_from_within_a_period_that_was_restored_before_a_save_goes_on) {
  SharedFolder folder;
  LocalSGD<MultiWorkerMirroredStrategy<Space>, 2, SGD> const strategy(MultiWorkerMirroredStrategy<Space>(world()),
                                                                      SGD{.learning_rate = 0.7, .momentum = 0.5});
  auto const rows = test::mlp_samples<double>(24);
  auto const weights_after = [&](std::size_t killed_after) {
    auto model = compile<double>(strategy, Sequential{Input<test::mlp_inputs>{}, Dense<test::classes>{}},
                                 SGD{.learning_rate = 0.1}, SparseCategoricalCrossentropy{.from_logits = true});
    return test::unless_killed([&] {
      Snapshot within;
      fit(strategy, model, rows.data().batch(GlobalBatch{3}), {.epochs = 1, .verbose = false},
          LambdaCallback{.on_train_batch_end =
                             [&](auto& run) {
                               if (run.step() == 3) within.take(run);
                               if (run.step() == 4) within.restore_to(run);
                             }},
          BackupAndRestore{.path = folder.path + "/run.npz", .save_freq = 4}, Killer{killed_after});
      return model.engine().weights().host_parameters();
    });
  };
  auto const expected = weights_after(never);
  BOOST_TEST(!weights_after(4).has_value());
  BOOST_TEST((weights_after(never) == expected));
}
