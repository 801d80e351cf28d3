// Runs on a device are saved and resumed to the bit, also across devices, and their weights go to the host and back.
#define BOOST_TEST_MODULE device_saved_runs
#include "support/device.hpp"

#include "support/killer.hpp"
#include "support/kokkos_fixture.hpp"
#include "support/small_training.hpp"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>

#include "trireme/callbacks/backup_and_restore.hpp"
#include "trireme/callbacks/early_stopping.hpp"
#include "trireme/compile.hpp"
#include "trireme/fit.hpp"
#include "trireme/losses/sparse_categorical_crossentropy.hpp"
#include "trireme/metrics/accuracy.hpp"
#include "trireme/optimizers/adam.hpp"
#include "trireme/strategies/data_parallel/one_device.hpp"

using namespace trireme;

namespace {

constexpr std::size_t samples = 22, batches = 5;
constexpr char const* run_file = "run.npz";
constexpr char const* weight_file = "weights.npz";

using test::Killer, test::never;

template <class Space>
auto compiled(Space const& space) {
  return compile<double>(OneDeviceStrategy<Space>(space), test::mlp(), Adam{.learning_rate = 0.03, .clipvalue = 0.5},
                         SparseCategoricalCrossentropy{.from_logits = true}, Accuracy{}, CompileOptions{.seed = 6});
}

struct Result {
  std::uint64_t weights;
  History history;
};

/// Nothing if it was killed after `steps` steps of this call.
std::optional<Result> trained(test::Device const& space, std::size_t steps) {
  auto const train = test::mlp_samples<double>(samples), tests = test::mlp_samples<double>(7, 2);
  auto model = compiled(space);
  return test::unless_killed([&] {
    History history =
        fit(OneDeviceStrategy<test::Device>(space), model, train.data().shuffle(samples, 4).batch(GlobalBatch{5}),
            validation(tests.data().batch(GlobalBatch{3})), {.epochs = 3, .verbose = false}, Killer{steps},
            EarlyStopping<"val_loss">{.min_delta = 0.03, .patience = 1, .restore_best_weights = true},
            BackupAndRestore{.path = run_file, .save_freq = std::size_t{2}});
    return Result{test::weight_bits(model), history};
  });
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_run_that_moves_to_another_device_ends_as_the_run_that_stays) {
  std::filesystem::remove(run_file);
  auto const expected = trained(test::device(1), never);
  BOOST_REQUIRE(expected.has_value());
  BOOST_TEST(!trained(test::device(1), batches + 2).has_value());
  auto const resumed = trained(test::device(2), never);
  BOOST_REQUIRE(resumed.has_value());
  BOOST_TEST(resumed->weights == expected->weights);
  BOOST_TEST((resumed->history.values == expected->history.values));
}

BOOST_AUTO_TEST_CASE(weights_go_from_a_device_to_the_host_and_back) {
  auto const train = test::mlp_samples<double>(samples);
  auto const data = train.data().batch(GlobalBatch{5});
  OneDeviceStrategy<test::Device> const on_device(test::device(1));
  OneDeviceStrategy<Kokkos::DefaultHostExecutionSpace> const host;
  auto model = compiled(test::device(1));
  fit(on_device, model, data, {.epochs = 2, .verbose = false});
  model.save_weights(weight_file);

  auto on_host = compiled(Kokkos::DefaultHostExecutionSpace());
  on_host.load_weights(weight_file);
  BOOST_TEST(test::weight_bits(on_host) == test::weight_bits(model));
  test::check_same_logs(evaluate(on_device, model, data), evaluate(host, on_host, data), 1e-12);
  BOOST_TEST(test::distance(predict(on_device, model, data), predict(host, on_host, data)) < 1e-12);

  // The optimizer's state is in the file too: both go on alike.
  fit(host, on_host, data, {.epochs = 1, .verbose = false});
  fit(on_device, model, data, {.epochs = 1, .verbose = false});
  test::check_same_weights(model, on_host, 1e-12);
  on_host.save_weights(weight_file);
  model.load_weights(weight_file);
  BOOST_TEST(test::weight_bits(on_host) == test::weight_bits(model));
}
