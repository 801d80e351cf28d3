// ranks: 1 2
// Devices of a replica divide kernels and tables by sharding annotations, and give what one device gives.
#define BOOST_TEST_MODULE pjrt_shards
#include "support/kokkos_fixture.hpp"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include <unistd.h>

#include "pjrt/training.hpp"
#include "trireme/trireme.hpp"

using namespace trireme;

namespace {

constexpr std::size_t vocabulary = 12, words = 5;

/// Rows of indices of the table.
struct Samples : test::Samples<double> {
  explicit Samples(std::size_t count)
      : test::Samples<double>(test::make_samples<double>(count, {words}, test::classes, 3)) {
    for (double& value : x) value = static_cast<double>(static_cast<int>((value + 1) * 7) % int{vocabulary});
  }
  auto batches(std::size_t rows) const { return weighted_data().batch(GlobalBatch{rows}); }
};

auto strategy(std::size_t replicas, std::size_t shards) {
  PjrtStrategy one = test::pjrt_strategy(replicas);
  one.shards = shards;
  return MultiWorkerPjrtStrategy(test::environment().world(), one);
}

/// Kernels of 6 and 12 units and a table of 12 rows divide by 2 and 3; a kernel of 4 units by 2, and by 3 along its 12
/// inputs.
template <class Where>
auto compiled(Where const& where) {
  return compile<double>(
      where,
      Sequential{Input<words>{}, Embedding<vocabulary, 3>{}, Flatten{},
                 Dense<6, Tanh>{.kernel_regularizer = L1L2(1e-4, 1e-3)}, SyncBatchNormalization<>{.momentum = 0.8},
                 Dropout{.rate = 0.25f}, Frozen{Dense<12, ReLU>{}}, Dense<4>{}},
      Adam{.learning_rate = 0.02, .epsilon = 1e-3, .global_clipnorm = 0.5},
      SparseCategoricalCrossentropy{.from_logits = true}, Accuracy{}, CompileOptions{.seed = 5});
}

auto const make = [](auto const& where) { return compiled(where); };

struct File {
  std::string path =
      (std::filesystem::temp_directory_path() / ("trireme_shards_" + std::to_string(::getpid()) + ".npz")).string();
  ~File() { std::filesystem::remove(path); }
};

}  // namespace

BOOST_AUTO_TEST_CASE(devices_that_divide_weights_train_as_one_device_does) {
  Samples const samples(37), others(11);
  auto const train = samples.batches(9), tests = others.batches(4);  // the last batches have 1 and 3 rows
  auto const reference = test::run(OneDeviceStrategy<>(), make, train, tests, 3);
  std::size_t const ranks = test::environment().world().size();
  for (auto const& [replicas, shards] : std::vector<std::pair<std::size_t, std::size_t>>{{1, 2}, {2, 2}, {1, 3}})
    if (ranks == 1 || shards == 2)
      BOOST_TEST_CONTEXT(replicas << " replicas of " << shards << " devices on each of " << ranks << " ranks") {
        auto const run = test::run(strategy(replicas, shards), make, train, tests, 3);
        test::check_same_run(run, reference, 1e-11);
        test::check_equal_on_all(test::environment().world(), run.first);
        run.first.engine().verify_replicas();
      }
}

BOOST_AUTO_TEST_CASE(a_device_holds_its_part_of_what_divides_and_all_else) {
  std::size_t const table = vocabulary * 3, first = 15 * 6 + 6, normalization = 4 * 6, frozen = 6 * 12 + 12,
                    last = 12 * 4, bias = 4;
  auto const held = [](std::size_t shards) { return compiled(strategy(1, shards)).engine().weights_on_device(); };
  BOOST_TEST(held(1) == table + first + normalization + frozen + last + bias);
  BOOST_TEST(held(2) == (table + first + frozen + last + bias) / 2 + normalization);
  BOOST_TEST(held(3) == (table + first + frozen + last) / 3 + normalization + bias);
  auto const model = compiled(strategy(2, 2));
  BOOST_TEST(model.engine().devices() == 4u);
  BOOST_TEST(model.engine().placement().find("2 replicas each of 2 devices") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(weights_are_read_set_and_restored_whole) {
  if (test::environment().world().size() > 1) return;
  auto const where = strategy(1, 2);
  auto model = compiled(where);
  auto reference = compiled(OneDeviceStrategy<>());
  test::check_same_weights(model, reference, 0);
  xt::xarray<double> kernel = reference.weights("dense/kernel");
  for (std::size_t i = 0; i < kernel.size(); ++i) kernel.data()[i] = 0.01 * static_cast<double>(i) - 0.3;
  model.set_weights("dense/kernel", kernel);
  reference.set_weights("dense/kernel", kernel);
  test::check_same_weights(model, reference, 0);

  Samples const samples(27);
  auto const data = samples.batches(9);
  auto const train = [&](auto const& strategy, auto& trained) {
    return fit(strategy, trained, data, validation(data), {.epochs = 6, .verbose = false},
               EarlyStopping<"val_loss">{.min_delta = 0.05, .patience = 1, .restore_best_weights = true});
  };
  test::check_same_history(train(where, model), train(OneDeviceStrategy<>(), reference), 1e-11);
  test::check_same_weights(model, reference, 1e-11);

  File const file;
  model.save_weights(file.path);
  auto other = compiled(strategy(2, 3));
  other.load_weights(file.path);
  test::check_same_weights(other, model, 0);
}

BOOST_AUTO_TEST_CASE(a_run_goes_on_to_the_same_bits) {
  if (test::environment().world().size() > 1) return;
  auto const where = strategy(2, 2);
  Samples const samples(27);
  auto const data = samples.batches(9);
  File const file;
  auto whole = compiled(where);
  fit(where, whole, data, {.epochs = 4, .verbose = false});
  auto half = compiled(where);
  fit(where, half, data, {.epochs = 2, .verbose = false},
      BackupAndRestore{.path = file.path, .delete_checkpoint = false});
  auto resumed = compiled(where);
  fit(where, resumed, data, {.epochs = 4, .verbose = false}, BackupAndRestore{.path = file.path});
  BOOST_TEST(test::weight_bits(resumed) == test::weight_bits(whole));
}

BOOST_AUTO_TEST_CASE(programs_of_several_devices_are_kept_on_disk) {
  if (test::environment().world().size() > 1) return;
  auto const folder = std::filesystem::temp_directory_path() / ("trireme_shards_" + std::to_string(::getpid()));
  PjrtStrategy where = test::pjrt_strategy(2);
  where.shards = 2;
  where.cache = folder.string();
  Samples const samples(27);
  auto const data = samples.batches(9);
  auto const trained = [&] {
    auto model = compiled(where);
    fit(where, model, data, {.epochs = 2, .verbose = false});
    return model;
  };
  auto const first = trained(), second = trained();
  BOOST_TEST(first.engine().cached_programs() == 0u);
  BOOST_TEST(second.engine().cached_programs() == second.engine().compiled_programs());
  BOOST_TEST(test::weight_bits(second) == test::weight_bits(first));
  std::filesystem::remove_all(folder);
}

BOOST_AUTO_TEST_CASE(numbers_of_devices_are_checked) {
  if (test::environment().world().size() > 1) return;
  BOOST_CHECK_EXCEPTION(compiled(strategy(1, 0)), ValueError, [](ValueError const& error) {
    return std::string(error.what()).find("needs one device or more") != std::string::npos;
  });
  PjrtStrategy where = test::pjrt_strategy(2);
  where.shards = 2;
  where.options = {{"cpu_device_count", 3}};
  BOOST_CHECK_EXCEPTION(compiled(where), PluginError, [](PluginError const& error) {
    return std::string(error.what()).find("4 devices are needed (replicas x shards: 2 x 2), and there are 3") !=
           std::string::npos;
  });
  BOOST_CHECK_THROW(TPUStrategy(3, 2), ValueError);
  where.replicas = 0;  // as many as there are devices for
  where.options = {{"cpu_device_count", 4}};
  BOOST_TEST(compiled(where).engine().replicas() == 2u);
}
