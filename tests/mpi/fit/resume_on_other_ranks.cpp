// ranks: 4   labels: law
// Law 4: a run on four ranks that was killed goes on with 1, 2 or 3 under VirtualReplicas, and back, to the bit.
#define BOOST_TEST_MODULE resume_on_other_ranks
#include "support/killer.hpp"
#include "support/kokkos_fixture.hpp"
#include "support/same_bits.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "trireme/callbacks/backup_and_restore.hpp"
#include "trireme/callbacks/early_stopping.hpp"
#include "trireme/optimizers/adam.hpp"
#include "trireme/strategies/data_parallel/accumulate.hpp"
#include "trireme/strategies/data_parallel/compressed.hpp"
#include "trireme/strategies/data_parallel/multi_worker_mirrored.hpp"
#include "trireme/strategies/data_parallel/virtual_replicas.hpp"

using namespace trireme;

namespace {

constexpr std::size_t shards = 6, samples = 31, epochs = 4;

Communicator const& world() { return test::environment().world(); }

using test::Killer;

struct Result {
  std::uint64_t weights = 0;
  History history{};
};

/// Trains, or goes on with what is in the file; nothing if it was killed.
template <class Strategy>
std::optional<Result> run(Strategy const& strategy, std::string const& path, std::size_t steps) {
  auto const architecture = Sequential{
      test::law::input(), Conv2D<3, 3, 3, Same, NoBias>{}, SyncBatchNormalization<>{.momentum = 0.8},           ReLU{},
      Flatten{},          Dropout{.rate = 0.25f},          Dense<test::classes>{.kernel_regularizer = L2(1e-2)}};
  auto model = compile<float>(strategy, architecture, Adam{.learning_rate = 1e-2, .global_clipnorm = 0.5},
                              SparseCategoricalCrossentropy{.from_logits = true}, Accuracy{}, test::Margin{},
                              CompileOptions{.seed = 5});
  auto const train = test::cnn_samples<float>(samples), tests = test::cnn_samples<float>(9, 2);
  return test::unless_killed([&] {
    auto const history =
        fit(strategy, model, train.data().shuffle(samples, 3).batch(GlobalBatch{7}),
            validation(tests.data().batch(GlobalBatch{4})), {.epochs = epochs, .verbose = false},
            EarlyStopping<"val_loss">{.patience = 2}, BackupAndRestore{.path = path, .save_freq = 2}, Killer{steps});
    return Result{test::weight_bits(model), history};
  });
}

/// Runs on the first `ranks` ranks alone; the others wait. Their results go to all.
template <class Make>
std::optional<Result> run_on(std::size_t ranks, std::string const& path, std::size_t steps, Make const& make) {
  Communicator const part = world().split(world().rank() < ranks ? 0 : 1);
  std::optional<Result> result;
  if (world().rank() < ranks) result = run(make(part), path, steps);
  world().barrier();
  return result;
}

std::string file() {
  return (std::filesystem::temp_directory_path() /
          ("trireme_resume_" +
           std::to_string(world().broadcast(std::chrono::steady_clock::now().time_since_epoch().count()).value()) +
           ".npz"))
      .string();
}

template <class Make>
void check_resumed(std::vector<std::size_t> const& ranks, Make const& make) {
  std::string const path = file();
  auto const whole = run_on(4, path, 1000, make);
  BOOST_REQUIRE(whole.has_value());
  for (std::size_t steps : {2u, 5u, 8u}) {
    std::optional<Result> last;
    for (std::size_t i = 0; i < ranks.size(); ++i)
      last = run_on(ranks[i], path, i + 1 < ranks.size() ? steps : 1000, make);
    if (world().rank() >= ranks.back()) continue;
    BOOST_REQUIRE(last.has_value());
    BOOST_TEST(last->weights == whole->weights);
    for (auto const& [name, values] : whole->history.values)
      BOOST_TEST((last->history[name] == values), name << " after " << steps << " steps");
  }
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_run_goes_on_with_any_number_of_ranks) {
  auto const make = [](Communicator const& part) {
    return VirtualReplicas<MultiWorkerMirroredStrategy<>, shards>(part);
  };
  check_resumed({4, 2}, make);
  check_resumed({4, 3}, make);
  check_resumed({3, 1, 4}, make);
}

BOOST_AUTO_TEST_CASE(what_compression_left_out_goes_on_with_the_run) {
  check_resumed({4, 4}, [](Communicator const& part) {
    return Compressed(MultiWorkerMirroredStrategy<>(part), TopK{.fraction = 0.1});
  });
  check_resumed({4, 4}, [](Communicator const& part) {
    return Accumulate<Compressed<MultiWorkerMirroredStrategy<>, BFloat16>, 2>(part);
  });
}

namespace {

/// A value of each rank.
struct OwnValue {
  std::size_t value = 100 + world().rank();
  void on_train_batch_end(auto&) { ++value; }
  void state(auto& archive) { archive("value", value); }
};

}  // namespace

BOOST_AUTO_TEST_CASE(what_each_rank_had_of_its_own_is_that_of_the_chief_on_other_ranks) {
  std::string const path = file();
  OwnValue own;
  auto const run = [&](std::size_t ranks, std::size_t steps) {
    Communicator const part = world().split(world().rank() < ranks ? 0 : 1);
    if (world().rank() < ranks) {
      VirtualReplicas<MultiWorkerMirroredStrategy<>, shards> const strategy(part);
      auto model = compile<float>(strategy, test::mlp(), Adam{}, SparseCategoricalCrossentropy{.from_logits = true});
      auto const train = test::mlp_samples<float>(20);
      static_cast<void>(test::unless_killed([&] {
        return fit(strategy, model, train.data().batch(GlobalBatch{5}), {.epochs = 2, .verbose = false}, own,
                   BackupAndRestore{.path = path, .save_freq = 1}, Killer{steps});
      }));
    }
    world().barrier();
  };
  run(4, 3);
  own = {.value = 0};
  run(2, 3);
  BOOST_TEST(own.value == (world().rank() < 2 ? 107u : 0u));
  own = {.value = 0};
  run(2, 1000);
  BOOST_TEST(own.value == (world().rank() < 2 ? 108u : 0u));
}
