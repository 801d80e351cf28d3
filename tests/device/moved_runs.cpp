// ranks: 2
// Runs of several devices are saved and resumed to the bit, and go on on one device, on a host and on ranks.
#define BOOST_TEST_MODULE device_moved_runs
#include "support/device.hpp"

#include "support/killer.hpp"
#include "support/kokkos_fixture.hpp"
#include "support/small_training.hpp"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "trireme/callbacks/backup_and_restore.hpp"
#include "trireme/callbacks/early_stopping.hpp"
#include "trireme/callbacks/model_checkpoint.hpp"
#include "trireme/compile.hpp"
#include "trireme/fit.hpp"
#include "trireme/losses/sparse_categorical_crossentropy.hpp"
#include "trireme/metrics/accuracy.hpp"
#include "trireme/optimizers/adam.hpp"
#include "trireme/strategies/data_parallel/mirrored.hpp"
#include "trireme/strategies/data_parallel/multi_worker_mirrored.hpp"
#include "trireme/strategies/data_parallel/one_device.hpp"

using namespace trireme;

namespace {

constexpr std::size_t samples = 22, batches = 5;

using test::Killer, test::never;

struct Result {
  std::uint64_t weights;
  std::vector<double> values;
  History history;
};

/// Nothing if it was killed after `steps` steps of this call. EarlyStopping ends it in its third or fourth epoch.
template <class Strategy>
std::optional<Result> trained(Strategy const& strategy, std::string const& file, std::size_t steps,
                              Placement placement = Placement::same) {
  auto const train = test::mlp_samples<double>(samples), tests = test::mlp_samples<double>(7, 2);
  auto model =
      compile<double>(strategy, test::mlp(), Adam{.learning_rate = 0.03, .clipvalue = 0.5},
                      SparseCategoricalCrossentropy{.from_logits = true}, Accuracy{}, CompileOptions{.seed = 6});
  return test::unless_killed([&] {
    History history =
        fit(strategy, model, train.data().shuffle(samples, 4).batch(GlobalBatch{5}),
            validation(tests.data().batch(GlobalBatch{3})), {.epochs = 6, .verbose = false}, Killer{steps},
            EarlyStopping<"val_loss">{.min_delta = 0.03, .patience = 1, .restore_best_weights = true},
            BackupAndRestore{.path = file, .save_freq = std::size_t{2}, .placement = placement});
    return Result{test::weight_bits(model), model.engine().weights().host_parameters(), history};
  });
}

using Devices = MirroredStrategy<test::Device>;
bool is_chief() { return test::environment().world().is_chief(); }

}  // namespace

BOOST_AUTO_TEST_CASE(a_resumed_run_of_several_devices_ends_as_the_run_that_was_not_killed) {
  if (!is_chief()) return;
  std::filesystem::remove("same.npz");
  Devices const strategy(test::devices(3));
  auto const expected = trained(strategy, "same.npz", never);
  BOOST_REQUIRE(expected.has_value());
  BOOST_TEST(expected->history.epochs.size() < 6u);
  for (std::size_t const steps : {batches + 2, 2 * batches + 3}) {
    BOOST_TEST(!trained(strategy, "same.npz", steps).has_value());
    auto const resumed = trained(strategy, "same.npz", never);
    BOOST_REQUIRE(resumed.has_value());
    BOOST_TEST(resumed->weights == expected->weights);
    BOOST_TEST((resumed->history.values == expected->history.values));
  }
  auto const host = trained(OneDeviceStrategy<Kokkos::DefaultHostExecutionSpace>(), "same.npz", never);
  BOOST_TEST(test::distance(expected->values, host->values) <= 1e-12);
  test::check_same_history(expected->history, host->history, 1e-12);
}

BOOST_AUTO_TEST_CASE(a_run_of_several_devices_goes_on_elsewhere) {
  auto const& world = test::environment().world();
  auto const expected = trained(OneDeviceStrategy<Kokkos::DefaultHostExecutionSpace>(),
                                "host" + std::to_string(world.rank()) + ".npz", never);
  auto const check = [&](std::optional<Result> const& resumed) {
    BOOST_REQUIRE(resumed.has_value());
    BOOST_TEST(test::distance(resumed->values, expected->values) <= 1e-12);
    test::check_same_history(resumed->history, expected->history, 1e-12);
  };
  auto const killed_on_two_devices = [&] {
    if (is_chief()) BOOST_TEST(!trained(Devices(test::devices(2)), "moved.npz", batches + 3).has_value());
    world.barrier();
  };
  killed_on_two_devices();
  if (is_chief()) {
    BOOST_CHECK_THROW(trained(Devices(test::devices(3)), "moved.npz", never), FileError);
    check(trained(Devices(test::devices(3)), "moved.npz", never, Placement::any));
  }
  world.barrier();
  killed_on_two_devices();
  if (is_chief()) check(trained(OneDeviceStrategy<test::Device>(test::device(4)), "moved.npz", never, Placement::any));
  world.barrier();
  killed_on_two_devices();
  if (is_chief())
    check(trained(OneDeviceStrategy<Kokkos::DefaultHostExecutionSpace>(), "moved.npz", never, Placement::any));
  world.barrier();
  killed_on_two_devices();
  check(trained(MultiWorkerMirroredStrategy<test::Device>(world, test::device(1 + world.rank())), "moved.npz", never,
                Placement::any));
  world.barrier();
  // And from ranks to devices.
  BOOST_TEST(!trained(MultiWorkerMirroredStrategy<Kokkos::DefaultHostExecutionSpace>(world), "moved.npz", batches + 3)
                  .has_value());
  world.barrier();
  if (is_chief()) check(trained(Devices(test::devices(2)), "moved.npz", never, Placement::any));
}
