// ranks: 1 2 3 4   labels: law
// Law 1 for ParameterServerStrategy with a staleness of 0: any number of workers and servers, uneven and empty shares.
#define BOOST_TEST_MODULE parameter_server
#include "support/kokkos_fixture.hpp"
#include "support/small_training.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <stdexcept>
#include <tuple>
#include <vector>

#include "trireme/callbacks/backup_and_restore.hpp"
#include "trireme/callbacks/early_stopping.hpp"
#include "trireme/callbacks/lambda_callback.hpp"
#include "trireme/callbacks/reduce_lr_on_plateau.hpp"
#include "trireme/compile.hpp"
#include "trireme/fit.hpp"
#include "trireme/layers/batch_normalization.hpp"
#include "trireme/losses/sparse_categorical_crossentropy.hpp"
#include "trireme/metrics/accuracy.hpp"
#include "trireme/models/frozen.hpp"
#include "trireme/models/shared.hpp"
#include "trireme/optimizers/adam.hpp"
#include "trireme/optimizers/sgd.hpp"
#include "trireme/strategies/data_parallel/mirrored.hpp"
#include "trireme/strategies/data_parallel/one_device.hpp"
#include "trireme/strategies/parameter_server/parameter_server.hpp"

using namespace trireme;

namespace {

using Scalars = std::tuple<float, double>;

Communicator const& world() { return test::environment().world(); }

/// Divisions of the ranks into workers, servers and an evaluator, all synchronous.
std::vector<ParameterServerOptions> divisions() {
  std::vector<ParameterServerOptions> all{{.servers = 1, .staleness = 0}};
  if (world().size() > 2) all.push_back({.servers = 2, .staleness = 0});
  if (world().size() == 4) all.push_back({.servers = 1, .staleness = 0, .evaluator = true});
  return all;
}

template <class T, class Strategy, class Architecture, class Optimizer>
auto compiled(Strategy const& strategy, Architecture const& architecture, Optimizer const& optimizer) {
  return compile<T>(strategy, architecture, optimizer, SparseCategoricalCrossentropy{.from_logits = true}, Accuracy{},
                    test::Margin{}, CompileOptions{.seed = 5});
}

/// Trains, and gives the model and its history to `check`.
template <class T, class Strategy, class Architecture, class Optimizer, class Samples, class Check, class... Callbacks>
void trained(Strategy const& strategy, Architecture const& architecture, Optimizer const& optimizer,
             Samples const& samples, std::size_t batch, Check const& check, Callbacks... callbacks) {
  auto model = compiled<T>(strategy, architecture, optimizer);
  auto const train = samples(4 * batch + 1, 1), tests = samples(7, 2);
  auto const data = train.data().shuffle(train.size(), 3).batch(GlobalBatch{batch});
  auto const history = fit(strategy, model, data, validation(tests.data().batch(GlobalBatch{5})),
                           {.epochs = sizeof...(callbacks) > 0 ? 4u : 2u, .verbose = false}, callbacks...);
  check(model, history, tests);
}

template <class T>
auto images = [](std::size_t count, std::uint64_t seed) { return test::cnn_samples<T>(count, seed); };
template <class T>
auto rows = [](std::size_t count, std::uint64_t seed) { return test::mlp_samples<T>(count, seed); };

/// `reference`: the strategy to compare with, from the number of workers.
template <class T, class Reference, class Architecture, class Optimizer, class Samples, class... Callbacks>
void check_law(Reference const& reference, Architecture const& architecture, Optimizer const& optimizer,
               Samples const& samples, double slack = 3, Callbacks... callbacks) {
  for (std::size_t batch : {7u, 2u})
    for (auto const& division : divisions()) {
      ParameterServerStrategy<> const strategy(world(), division);
      auto const expectation = reference(strategy.roles().workers);
      trained<T>(
          expectation, architecture, optimizer, samples, batch,
          [&](auto& expected, History const& expected_history, auto const& tests) {
            trained<T>(
                strategy, architecture, optimizer, samples, batch,
                [&](auto& model, History const& history, auto const&) {
                  BOOST_TEST_CONTEXT("batches of " << batch << ", " << division.servers << " servers"
                                                   << (division.evaluator ? " and an evaluator" : "")) {
                    // Of two rows a normalized value changes much with each rounding.
                    double const limit = (batch == 2 ? 10 : 1) * slack * test::tolerance<T>;
                    test::check_same_history(history, expected_history, limit);
                    if (strategy.roles().is_replica(world().rank())) test::check_same_weights(model, expected, limit);
                    auto const data = tests.data().batch(GlobalBatch{3});
                    test::check_same_logs(evaluate(strategy, model, data), evaluate(expectation, expected, data),
                                          limit);
                    BOOST_TEST(test::distance(predict(strategy, model, data), predict(expectation, expected, data)) <=
                               limit);
                  }
                },
                callbacks...);
          },
          callbacks...);
    }
}

/// Ends the run of every process.
struct FailAt {
  std::size_t epoch, batch;
  template <class Run>
  void on_train_batch_end(Run const& run) const {
    if (run.epoch() == epoch && run.batch() == batch) throw std::runtime_error("here it ends");
  }
};

auto one_device = [](std::size_t) { return OneDeviceStrategy<>(); };

auto input() { return Input<test::cnn_inputs[0], test::cnn_inputs[1], test::cnn_inputs[2]>{}; }
auto momentum() { return SGD{.learning_rate = 0.02, .momentum = 0.9}; }

}  // namespace

BOOST_AUTO_TEST_CASE_TEMPLATE(a_penalized_perceptron_with_dropout_trains_as_on_one_device, T, Scalars) {
  check_law<T>(one_device, test::mlp(), momentum(), rows<T>);
  check_law<T>(one_device, test::mlp(), Adam{.learning_rate = 0.01}, rows<T>, 30);
}

BOOST_AUTO_TEST_CASE_TEMPLATE(norms_and_values_are_clipped_over_all_servers, T, Scalars) {
  check_law<T>(one_device, test::mlp(), SGD{.learning_rate = 0.1, .clipnorm = 0.05}, rows<T>);
  check_law<T>(one_device, test::mlp(), SGD{.learning_rate = 0.1, .global_clipnorm = 0.1}, rows<T>);
  check_law<T>(one_device, test::mlp(), SGD{.learning_rate = 0.1, .clipvalue = 0.01}, rows<T>);
}

BOOST_AUTO_TEST_CASE_TEMPLATE(statistics_of_a_worker_are_those_of_a_replica, T, Scalars) {
  check_law<T>([](std::size_t workers) { return MirroredStrategy<>(workers); },
               Sequential{input(), Conv2D<3, 3, 3, Same, NoBias>{}, BatchNormalization<>{.momentum = 0.7}, ReLU{},
                          Flatten{}, Dense<test::classes>{}},
               momentum(), images<T>, 10);
}

BOOST_AUTO_TEST_CASE_TEMPLATE(frozen_weights_stay_with_the_workers, T, Scalars) {
  check_law<T>(one_device,
               Sequential{input(), Frozen{Conv2D<4, 3, 3, Same>{}}, Conv2D<3, 3, 3, ReLU>{}, Flatten{},
                          Frozen{Dense<6, Tanh>{}}, Dense<test::classes>{}},
               momentum(), images<T>);
}

BOOST_AUTO_TEST_CASE(callbacks_act_on_the_servers_too) {
  check_law<double>(one_device, test::mlp(), momentum(), rows<double>, 3,
                    ReduceLROnPlateau<"val_loss">{.factor = 0.5, .patience = 1, .min_delta = 10},
                    EarlyStopping<"val_loss">{.min_delta = 0.5, .patience = 2, .restore_best_weights = true});
}

BOOST_AUTO_TEST_CASE(weights_and_the_optimizers_state_go_to_a_file_and_come_back) {
  for (auto const& division : divisions()) {
    ParameterServerStrategy<> const strategy(world(), division);
    std::string const path = "parameter_server_state.npz";
    auto const samples = test::mlp_samples<double>(20);
    auto const data = samples.data().batch(GlobalBatch{6});
    auto const train = [&](auto const& where, auto& model, std::size_t first, std::size_t epochs) {
      return fit(where, model, data, {.epochs = epochs, .initial_epoch = first, .verbose = false});
    };
    OneDeviceStrategy<> const one;
    auto expected = compiled<double>(one, test::mlp(), Adam{.learning_rate = 0.01});
    train(one, expected, 0, 4);
    auto first = compiled<double>(strategy, test::mlp(), Adam{.learning_rate = 0.01});
    train(strategy, first, 0, 2);
    first.save_weights(path);
    auto second = compiled<double>(strategy, test::mlp(), Adam{.learning_rate = 0.5});
    second.load_weights(path);
    auto const history = train(strategy, second, 2, 4);
    if (strategy.roles().is_replica(world().rank())) test::check_same_weights(second, expected, 1e-12);
    // One process reads the file as well.
    auto alone = compiled<double>(one, test::mlp(), Adam{});
    alone.load_weights(path);
    train(one, alone, 2, 4);
    test::check_same_weights(alone, expected, 1e-12);
    world().barrier();
    if (world().is_chief()) std::remove(path.c_str());
  }
}

/// Servers, which hold a range of the weights only, take part.
BOOST_AUTO_TEST_CASE(models_share_layers_and_copy_weights) {
  auto const samples = test::mlp_samples<double>(23);
  auto const data = samples.data().batch(GlobalBatch{7});
  auto const train = [&](auto const& strategy, auto const& check) {
    Shared const body{Sequential{Dense<5, Tanh>{.name = "wide"}, BatchNormalization<>{}, Dense<3>{}}};
    auto const make = [&](auto const& layers) {
      return compiled<double>(strategy,
                              Sequential{Input<test::mlp_inputs>{}, layers, Dense<test::classes>{.name = "head"}},
                              Adam{.learning_rate = 0.01});
    };
    auto first = make(body);
    auto second = make(body);
    auto copied = make(Sequential{Dense<5, Tanh>{.name = "wide"}, BatchNormalization<>{}, Dense<3>{}});
    fit(strategy, first, data, {.epochs = 2, .verbose = false}, LambdaCallback{.on_train_batch_end = [&](auto& run) {
          if (run.batch() == 1) second.train_on_batch(samples.x, samples.y);
        }});
    second.set_weights("sequential/wide/bias", std::vector<double>{1, 2, 3, 4, 5});
    second.train_on_batch(samples.x, samples.y);
    copied.copy_weights(first);
    fit(strategy, copied, data, {.epochs = 1, .verbose = false});
    check(first, second, copied);
  };
  // One worker alone: BatchNormalization has statistics of each.
  std::size_t const servers = std::max<std::size_t>(world().size(), 2) - 1;
  ParameterServerStrategy<> const strategy(world(), {.servers = servers, .staleness = 0});
  train(OneDeviceStrategy<>(), [&](auto const&... expected) {
    train(strategy, [&](auto const&... model) {
      if (strategy.roles().is_replica(world().rank())) (test::check_same_weights(model, expected, 1e-12), ...);
    });
  });
}

BOOST_AUTO_TEST_CASE(workers_that_go_their_own_pace_share_layers) {
  ParameterServerStrategy<> const strategy(world(), {.staleness = 2});
  Shared const body{Dense<5, Tanh>{.name = "body"}};
  auto const make = [&] {
    return compiled<double>(strategy, Sequential{Input<test::mlp_inputs>{}, body, Dense<test::classes>{.name = "head"}},
                            SGD{});
  };
  auto first = make(), second = make();
  bool const reads = strategy.roles().is_replica(world().rank());
  auto const before = reads ? first.weights("body/kernel") : xt::xarray<double>();
  auto const samples = test::mlp_samples<double>(23);
  fit(strategy, first, samples.data().batch(GlobalBatch{7}), {.epochs = 2, .verbose = false});
  if (!reads) return;
  BOOST_TEST((second.weights("body/kernel") == first.weights("body/kernel")));
  BOOST_TEST(!(second.weights("body/kernel") == before));
}

BOOST_AUTO_TEST_CASE(a_run_that_was_ended_goes_on_from_its_checkpoint_to_the_bit) {
  for (auto const& division : divisions()) {
    ParameterServerStrategy<> const strategy(world(), division);
    std::string const path = "parameter_server_run.npz";
    auto const samples = test::mlp_samples<float>(31), others = test::mlp_samples<float>(7, 2);
    auto const train = [&](auto& model, auto... callbacks) {
      return fit(strategy, model, samples.data().shuffle(31, 1).batch(GlobalBatch{4}),
                 validation(others.data().batch(GlobalBatch{3})), {.epochs = 4, .verbose = false},
                 EarlyStopping<"val_loss">{.patience = 3, .restore_best_weights = true}, callbacks...);
    };
    auto whole = compiled<float>(strategy, test::mlp(), Adam{.learning_rate = 0.1});
    auto const expected = train(whole, BackupAndRestore{.path = path, .save_freq = 3}, FailAt{9, 9});
    auto ended = compiled<float>(strategy, test::mlp(), Adam{.learning_rate = 0.1});
    BOOST_CHECK_THROW(train(ended, BackupAndRestore{.path = path, .save_freq = 3}, FailAt{2, 4}), std::runtime_error);
    auto resumed = compiled<float>(strategy, test::mlp(), Adam{.learning_rate = 0.1});
    auto const history = train(resumed, BackupAndRestore{.path = path, .save_freq = 3}, FailAt{9, 9});
    BOOST_TEST(history.epochs == expected.epochs, boost::test_tools::per_element());
    for (auto const& [name, values] : expected.values)
      BOOST_TEST(history[name] == values, boost::test_tools::per_element());
    if (strategy.roles().is_replica(world().rank())) BOOST_TEST(test::weight_bits(resumed) == test::weight_bits(whole));
  }
}
