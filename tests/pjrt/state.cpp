// What callbacks and files do with a model whose state lies on devices.
#define BOOST_TEST_MODULE pjrt_state
#include "support/kokkos_fixture.hpp"

#include <algorithm>
#include <filesystem>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <unistd.h>

#include "pjrt/training.hpp"
#include "support/killer.hpp"
#include "trireme/callbacks/backup_and_restore.hpp"
#include "trireme/callbacks/early_stopping.hpp"
#include "trireme/callbacks/reduce_lr_on_plateau.hpp"
#include "trireme/losses/sparse_categorical_crossentropy.hpp"
#include "trireme/metrics/accuracy.hpp"
#include "trireme/optimizers/adam.hpp"
#include "trireme/schedules/exponential_decay.hpp"
#include "trireme/strategies/data_parallel/one_device.hpp"

using namespace trireme;

namespace {

auto const logits = SparseCategoricalCrossentropy{.from_logits = true};
auto const make = [](auto const& strategy) {
  return compile(strategy, test::mlp(), Adam{.learning_rate = 3e-2}, logits, Accuracy{}, CompileOptions{.seed = 4});
};

/// Looks at the loss of every batch: the running mean of the epoch.
struct Losses {
  std::vector<double>* seen;
  template <class Run>
  void on_train_batch_end(Run const& run) const {
    seen->push_back(run.loss().value());
  }
};

using test::Killed, test::Killer;

}  // namespace

BOOST_AUTO_TEST_CASE(early_stopping_brings_back_the_best_weights_and_the_rate_is_reduced) {
  auto const samples = test::mlp_samples<float>(80), others = test::mlp_samples<float>(30, 2);
  auto const train = samples.data().shuffle(80, 1).batch(GlobalBatch{16});
  auto const tests = others.data().batch(GlobalBatch{30});
  auto const run = [&](auto const& strategy) {
    auto model = make(strategy);
    auto const history = fit(strategy, model, train, validation(tests), {.epochs = 40, .verbose = false},
                             EarlyStopping<"val_loss">{.patience = 4, .restore_best_weights = true},
                             ReduceLROnPlateau<"val_loss">{.factor = 0.5, .patience = 1});
    return std::tuple(std::move(model), history, evaluate(strategy, model, tests));
  };
  auto const [reference, expected, expected_logs] = run(OneDeviceStrategy<>());
  auto const [model, history, logs] = run(test::pjrt_strategy(2));
  BOOST_TEST(history.epochs.size() < 40u);
  test::check_same_history(history, expected, 1e-4);  // some 100 steps
  test::check_same_weights(model, reference, 1e-4);
  double const best = *std::min_element(history["val_loss"].begin(), history["val_loss"].end());
  test::check_close(logs.find("loss")->value(), best, 1e-6, "the loss of the best weights");
}

BOOST_AUTO_TEST_CASE(running_losses_are_there_when_a_callback_looks_at_them) {
  auto const samples = test::mlp_samples<float>(50);
  auto const data = samples.data().batch(GlobalBatch{8});
  auto const run = [&](auto const& strategy) {
    auto model = compile(
        strategy, test::mlp(),
        Adam{.learning_rate = ExponentialDecay{.initial_learning_rate = 0.02, .decay_steps = 3, .decay_rate = 0.8}},
        logits, Accuracy{}, CompileOptions{.seed = 4});
    std::vector<double> losses;
    fit(strategy, model, data, {.epochs = 3, .verbose = false}, Losses{&losses});
    return losses;
  };
  auto const expected = run(OneDeviceStrategy<>());
  auto const losses = run(test::pjrt_strategy(3));
  BOOST_TEST(losses.size() == 21u);
  BOOST_TEST(losses.size() == expected.size());
  for (std::size_t i = 0; i < losses.size(); ++i) test::check_close(losses[i], expected[i], 1e-5, "loss");
}

BOOST_AUTO_TEST_CASE(single_weights_can_be_read_and_set_and_single_batches_trained_on) {
  auto const strategy = test::pjrt_strategy(2);
  auto model = make(strategy);
  auto reference = make(OneDeviceStrategy<>());
  auto const samples = test::mlp_samples<float>(24);
  xt::xarray<float> const kernel = xt::ones<float>({test::mlp_inputs, std::size_t{9}});
  model.set_weights("dense/kernel", kernel);
  reference.set_weights("dense/kernel", kernel);
  BOOST_TEST(test::distance(model.weights("dense/kernel"), kernel) == 0.0);
  for (int step = 0; step < 3; ++step) {
    auto const logs = model.train_on_batch(samples.x, samples.y, samples.weight);
    test::check_same_logs(logs, reference.train_on_batch(samples.x, samples.y, samples.weight), 1e-6);
  }
  test::check_same_weights(model, reference, test::program_tolerance);

  Kokkos::View<float * [test::mlp_inputs], Kokkos::LayoutRight, Kokkos::HostSpace> const x("x", 5);
  Kokkos::View<float * [test::classes], Kokkos::LayoutRight, Kokkos::HostSpace> const y("y", 5), expected("y", 5);
  std::copy_n(samples.x.data(), x.size(), x.data());
  model.infer(x, y);
  reference.infer(x, expected);
  for (std::size_t i = 0; i < y.size(); ++i)
    test::check_close(static_cast<double>(y.data()[i]), static_cast<double>(expected.data()[i]), 1e-5, "prediction");
}

BOOST_AUTO_TEST_CASE(a_run_that_was_killed_within_an_epoch_goes_on_to_the_same_bits) {
  std::string const path =
      (std::filesystem::temp_directory_path() / ("trireme_pjrt_" + std::to_string(::getpid()) + ".npz")).string();
  auto const strategy = test::pjrt_strategy(2);
  auto const samples = test::mlp_samples<float>(50);
  auto const data = samples.data().shuffle(50, 3).batch(GlobalBatch{8});
  FitOptions const options{.epochs = 3, .verbose = false};
  auto reference = make(strategy);
  auto const expected = fit(strategy, reference, data, options);

  auto interrupted = make(strategy);
  BackupAndRestore const backup{.path = path, .save_freq = SaveFreq{4}};
  BOOST_CHECK_THROW(fit(strategy, interrupted, data, options, BackupAndRestore(backup), Killer{9}), Killed);
  auto model = make(strategy);
  auto const history = fit(strategy, model, data, options, BackupAndRestore(backup), Killer{100});
  BOOST_TEST(model.engine().iteration() == reference.engine().iteration());
  BOOST_TEST(test::weight_bits(model) == test::weight_bits(reference));
  BOOST_TEST((history.values == expected.values));
}

BOOST_AUTO_TEST_CASE(weights_that_a_callback_keeps_may_outlive_the_model) {
  auto const samples = test::mlp_samples<float>(40);
  auto const data = samples.data().batch(GlobalBatch{16});
  Snapshot kept;
  auto const train = [&] {
    auto const strategy = test::pjrt_strategy();
    auto model = make(strategy);
    fit(strategy, model, data, {.verbose = false}, LambdaCallback{.on_epoch_end = [&](auto& run) { kept.take(run); }});
  };
  train();
  BOOST_TEST(bool(kept));
  train();  // in place of those of the first model
}

BOOST_AUTO_TEST_CASE(a_model_may_be_assigned_over_another) {
  auto const samples = test::mlp_samples<float>(40);
  auto const data = samples.data().batch(GlobalBatch{16});
  auto const strategy = test::pjrt_strategy(2);
  auto const trained = [&] {
    auto model = make(strategy);
    fit(strategy, model, data, {.epochs = 1, .verbose = false});
    return model;
  };
  auto const reference = trained();
  auto model = trained();
  model = trained();
  BOOST_TEST(test::weight_bits(model) == test::weight_bits(reference));
}
