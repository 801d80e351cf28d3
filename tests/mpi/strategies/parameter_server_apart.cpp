// ranks: 1 2 3 4   labels: law
// ParameterServerStrategy with a staleness above 0: every worker goes its own pace, and nothing is lost.
#define BOOST_TEST_MODULE parameter_server_apart
#include "support/kokkos_fixture.hpp"
#include "support/message_of.hpp"
#include "support/printed.hpp"
#include "support/small_training.hpp"
#include "support/uniform_error.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <limits>
#include <map>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

#include "trireme/callbacks/early_stopping.hpp"
#include "trireme/callbacks/model_checkpoint.hpp"
#include "trireme/callbacks/reduce_lr_on_plateau.hpp"
#include "trireme/callbacks/terminate_on_nan.hpp"
#include "trireme/compile.hpp"
#include "trireme/data/from_generator.hpp"
#include "trireme/data/from_local_slices.hpp"
#include "trireme/fit.hpp"
#include "trireme/layers/batch_normalization.hpp"
#include "trireme/losses/sparse_categorical_crossentropy.hpp"
#include "trireme/metrics/accuracy.hpp"
#include "trireme/models/shared.hpp"
#include "trireme/mpi/fault/status_record.hpp"
#include "trireme/optimizers/adam.hpp"
#include "trireme/optimizers/sgd.hpp"
#include "trireme/schedules/exponential_decay.hpp"
#include "trireme/strategies/data_parallel/one_device.hpp"
#include "trireme/strategies/parameter_server/parameter_server.hpp"

using namespace trireme;

namespace {

Communicator const& world() { return test::environment().world(); }

std::vector<ParameterServerOptions> divisions() {
  std::vector<ParameterServerOptions> all{{.servers = 1}, {.servers = 1, .staleness = 1}};
  if (world().size() > 2) all.push_back({.servers = 2, .staleness = 3});
  if (world().size() > 3) all.push_back({.servers = 1, .staleness = 5, .evaluator = true});
  return all;
}

template <class F>
void for_each_division(F const& f) {
  for (auto const& options : divisions())
    BOOST_TEST_CONTEXT(options.servers << " servers, staleness " << options.staleness.value_or(0)
                                       << (options.evaluator ? ", an evaluator" : ""))
  f(ParameterServerStrategy<>(world(), options));
}

template <class T = float, class Strategy, class Optimizer>
auto compiled(Strategy const& strategy, Optimizer const& optimizer) {
  return compile<T>(strategy, test::mlp(), optimizer, SparseCategoricalCrossentropy{.from_logits = true}, Accuracy{},
                    test::Margin{}, CompileOptions{.seed = 5});
}

/// Which batches this process trained on.
struct Trained {
  std::vector<std::size_t> batches{};
  template <class Run>
  void on_train_batch_end(Run& run) {
    batches.push_back(run.batch());
  }
};

/// Ends training after batch 13, wherever that is trained on.
struct StopAt {
  Trained* trained;
  template <class Run>
  Control on_train_batch_end(Run const& run) {
    trained->batches.push_back(run.batch());
    BOOST_TEST(std::isfinite(run.loss().value()));  // of this worker
    return run.batch() == 13 ? Control::stop : Control::proceed;
  }
};

/// Takes ten times as long for a batch on one worker.
struct Slow {
  bool slow;
  Trained* trained;
  template <class Run>
  void on_train_batch_begin(Run const&) const {
    // Long beside what a busy machine adds to either.
    std::this_thread::sleep_for(std::chrono::milliseconds(slow ? 400 : 40));
  }
  template <class Run>
  void on_train_batch_end(Run const& run) {
    trained->batches.push_back(run.batch());
  }
};

/// Leaves most batches to the chief.
struct ChiefFirst {
  template <class Run>
  void on_train_batch_begin(Run const&) const {
    if (!world().is_chief()) std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
};

/// Leaves most batches to the last worker.
struct ChiefLast {
  std::size_t workers;
  template <class Run>
  void on_train_batch_begin(Run const&) const {
    if (world().rank() + 1 != workers) std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
};

/// Keeps what a collective member says.
struct Agree {
  std::string* message;
  template <class Run>
  void on_train_batch_end(Run& run) {
    try {
      run.agree(true);
    } catch (ValueError const& error) {
      *message = error.what();
    }
  }
};

/// The batches of all processes, in order.
std::vector<std::size_t> of_all(std::vector<std::size_t> const& own) {
  auto all = world().allgatherv(own).values();
  std::sort(all.begin(), all.end());
  return all;
}

std::vector<std::size_t> each_once(std::size_t batches, std::size_t times = 1) {
  std::vector<std::size_t> all;
  for (std::size_t i = 0; i < batches * times; ++i) all.push_back(i / times);
  return all;
}

/// Points on two spirals, which no linear model tells apart.
test::Samples<float> spirals(std::size_t count, std::uint64_t seed) {
  test::Samples<float> samples{xt::xarray<float>::from_shape({count, std::size_t{2}}), {}, {}};
  std::mt19937_64 bits(seed);
  auto const uniform = [&] { return static_cast<double>(bits() >> 11) * 0x1p-53; };
  for (std::size_t i = 0; i < count; ++i) {
    auto const label = static_cast<std::int32_t>(i % 2);
    double const t = 0.3 + 1.7 * uniform(), angle = 2.5 * t + 3.14159265 * label;
    samples.x.data()[2 * i] = static_cast<float>(t * std::cos(angle) + 0.05 * (uniform() - 0.5));
    samples.x.data()[2 * i + 1] = static_cast<float>(t * std::sin(angle) + 0.05 * (uniform() - 0.5));
    samples.y.push_back(label);
  }
  return samples;
}

}  // namespace

BOOST_AUTO_TEST_CASE(every_batch_of_every_epoch_is_trained_on_once_and_its_gradient_applied) {
  for_each_division([](auto const& strategy) {
    auto const samples = test::mlp_samples<float>(101);
    auto const data = samples.data().shuffle(101, 3).batch(GlobalBatch{4});  // 26 batches, the last of 1 sample
    auto model = compiled(strategy, SGD{.learning_rate = 0.02, .momentum = 0.9});
    for (std::size_t fits = 1; fits <= 2; ++fits) {
      Trained trained;
      auto const history = fit(strategy, model, data, {.epochs = 3, .verbose = false}, trained);
      BOOST_TEST(of_all(trained.batches) == each_once(26, 3), boost::test_tools::per_element());
      BOOST_TEST(model.engine().iteration() == fits * 3 * 26u);
      auto const applied = model.engine().applied();
      std::size_t const servers = strategy.roles().ranks == 1 ? 0 : strategy.roles().servers;
      BOOST_TEST(world().allreduce_sum(applied).value() == fits * 3 * 26u * servers);
      BOOST_TEST(history["loss"].size() == 3u);
    }
    if (!strategy.roles().is_worker(world().rank())) {
      Trained none;
      fit(strategy, model, data, {.verbose = false}, none);
      BOOST_TEST(none.batches.empty());
    } else {
      fit(strategy, model, data, {.verbose = false}, Trained{});
    }
  });
}

BOOST_AUTO_TEST_CASE(with_a_single_worker_the_course_is_that_of_one_device) {
  if (world().size() > 2) return;
  auto const samples = test::mlp_samples<double>(33);
  auto const data = samples.data().shuffle(33, 3).batch(GlobalBatch{4});
  OneDeviceStrategy<> const one;
  auto expected = compiled<double>(
      one, Adam{.learning_rate = ExponentialDecay{.initial_learning_rate = 0.02, .decay_steps = 3, .decay_rate = 0.9}});
  ParameterServerStrategy<> const strategy(world());
  auto model = compiled<double>(
      strategy,
      Adam{.learning_rate = ExponentialDecay{.initial_learning_rate = 0.02, .decay_steps = 3, .decay_rate = 0.9}});
  FitOptions const options{.epochs = 3, .verbose = false};
  auto const others = test::mlp_samples<double>(7, 2);
  auto const tests = validation(others.data().batch(GlobalBatch{3}));
  test::check_same_history(fit(strategy, model, data, tests, options), fit(one, expected, data, tests, options), 1e-12);
  if (world().is_chief()) test::check_same_weights(model, expected, 1e-12);
}

BOOST_AUTO_TEST_CASE(asynchronous_training_learns_what_synchronous_training_does) {
  for_each_division([](auto const& strategy) {
    auto const samples = spirals(1000, 1), others = spirals(300, 2);
    auto model = compile<float>(strategy, Sequential{Input<2>{}, Dense<32, Tanh>{}, Dense<32, Tanh>{}, Dense<2>{}},
                                Adam{.learning_rate = 0.01}, SparseCategoricalCrossentropy{.from_logits = true},
                                Accuracy{}, CompileOptions{.seed = 1});
    auto const history = fit(strategy, model, samples.data().shuffle(1000, 3).batch(GlobalBatch{20}),
                             validation(others.data().batch(GlobalBatch{64})), {.epochs = 12, .verbose = false});
    BOOST_TEST(history["val_accuracy"].front() < 0.9);
    BOOST_TEST(history["val_accuracy"].back() > 0.98);
    BOOST_TEST(history["val_loss"].back() < 0.1);
  });
}

BOOST_AUTO_TEST_CASE(validation_is_exact_over_uneven_and_empty_shares) {
  for_each_division([](auto const& strategy) {
    auto model = compiled<double>(strategy, SGD{.learning_rate = 0.05});
    OneDeviceStrategy<> const one;
    auto alone = compiled<double>(one, SGD{});
    auto const samples = test::mlp_samples<double>(40), others = test::mlp_samples<double>(11, 2);
    for (std::size_t batch : {5u, 1u}) {
      auto const data = others.data().batch(GlobalBatch{batch});
      auto const history =
          fit(strategy, model, samples.data().batch(GlobalBatch{4}), validation(data), {.verbose = false});
      // Its weights, known to the workers, on one device.
      model.save_weights("parameter_server_apart.npz");
      alone.load_weights("parameter_server_apart.npz");
      auto const expected = evaluate(one, alone, data);
      test::check_same_logs(evaluate(strategy, model, data), expected, 1e-13);
      for (auto const& entry : expected)
        test::check_close(history["val_" + std::string(entry.name)].back(), entry.value.value(), 1e-13, entry.name);
      BOOST_TEST(test::distance(predict(strategy, model, data), predict(one, alone, data)) <= 1e-13);
      world().barrier();
      if (world().is_chief()) std::remove("parameter_server_apart.npz");
    }
  });
}

BOOST_AUTO_TEST_CASE(early_stopping_stops_all_at_the_same_epoch_and_restores_the_same_weights) {
  for_each_division([](auto const& strategy) {
    auto model = compiled<double>(strategy, SGD{.learning_rate = 0.5});
    auto const samples = test::mlp_samples<double>(40), others = test::mlp_samples<double>(20, 2);
    auto const tests = others.data().batch(GlobalBatch{5});
    auto const history =
        fit(strategy, model, samples.data().batch(GlobalBatch{4}), validation(tests), {.epochs = 60, .verbose = false},
            EarlyStopping<"val_loss">{.patience = 4, .restore_best_weights = true},
            ReduceLROnPlateau<"val_loss">{.factor = 0.5, .patience = 1});
    std::size_t const epochs = history.epochs.size();
    BOOST_TEST(epochs < 60u);
    BOOST_TEST(world().allreduce_min(epochs).value() == world().allreduce_max(epochs).value());
    BOOST_TEST(model.engine().optimizer().learning_rate() < 0.5);
    BOOST_TEST(world().allreduce_min(model.engine().optimizer().learning_rate()).value() ==
               world().allreduce_max(model.engine().optimizer().learning_rate()).value());
    auto const& losses = history["val_loss"];
    test::check_close(evaluate(strategy, model, tests).find("loss")->value(),
                      *std::min_element(losses.begin(), losses.end()), 1e-13, "the best loss");
    // The servers have the restored weights too: what the workers get of them at the end of an epoch without a batch.
    BOOST_CHECK_NO_THROW(model.engine().finish_epoch());
    BOOST_CHECK_NO_THROW(model.engine().verify_replicas());
    test::check_close(evaluate(strategy, model, tests).find("loss")->value(),
                      *std::min_element(losses.begin(), losses.end()), 1e-13, "the best loss, from the servers");
  });
}

BOOST_AUTO_TEST_CASE(a_hook_of_one_workers_batch_ends_the_training_of_all) {
  for_each_division([](auto const& strategy) {
    auto model = compiled(strategy, SGD{.learning_rate = 0.02});
    auto const samples = test::mlp_samples<float>(400);
    Trained trained;
    auto const history =
        fit(strategy, model, samples.data().batch(GlobalBatch{4}), {.epochs = 3, .verbose = false}, StopAt{&trained});
    BOOST_TEST(history.epochs.size() == 1u);
    auto const all = of_all(trained.batches);
    BOOST_TEST(all.size() < 100u);
    BOOST_TEST(all == each_once(all.size()), boost::test_tools::per_element());
    BOOST_TEST(model.engine().iteration() == all.size());
  });
}

/// A worker that is not the chief computes the NaN, unless there is no other.
BOOST_AUTO_TEST_CASE(a_loss_that_is_no_number_on_one_worker_ends_training_by_a_warning_or_an_error_of_all) {
  for_each_division([](auto const& strategy) {
    auto samples = test::mlp_samples<float>(400);
    samples.x(120, 0) = std::numeric_limits<float>::quiet_NaN();  // in batch 30 of 100
    auto const data = samples.data().batch(GlobalBatch{4});
    auto const train = [&](TerminateOnNaN const& callback) {
      auto model = compiled(strategy, SGD{.learning_rate = 0.02});
      auto const history =
          fit(strategy, model, data, {.epochs = 3, .verbose = false}, callback, ChiefLast{strategy.roles().workers});
      BOOST_TEST(history.epochs.size() == 1u);
      BOOST_TEST(model.engine().iteration() < 100u);
    };
    bool const apart = world().size() > 1 && strategy.staleness() > 0;
    std::string const said = test::printed([&] { train({}); });
    BOOST_TEST(said == (!world().is_chief() ? ""
                        : apart             ? "Epoch 1: the loss is nan, so training ends\n"
                                            : "Epoch 1, batch 31: the loss is nan, so training ends\n"));
    BOOST_TEST(test::uniform_message_of<Error>(world(), [&] { train({.raise_error = true}); }) ==
               (apart ? "TerminateOnNaN: the loss is nan in epoch 1"
                      : "TerminateOnNaN: the loss is nan in epoch 1 after batch 31"));
  });
}

BOOST_AUTO_TEST_CASE(a_worker_slowed_tenfold_leaves_the_batches_to_the_others) {
  if (world().size() < 3) return;
  ParameterServerStrategy<> const strategy(world());
  auto model = compiled(strategy, SGD{.learning_rate = 0.02});
  std::size_t const slowest = strategy.roles().workers - 1;
  auto const samples = test::mlp_samples<float>(120);
  Trained trained;
  fit(strategy, model, samples.data().batch(GlobalBatch{2}), {.verbose = false},
      Slow{world().rank() == slowest, &trained});
  auto const counts = world().allgather(trained.batches.size());
  BOOST_TEST(of_all(trained.batches) == each_once(60), boost::test_tools::per_element());
  // In step with the slowest, each would have the same number; ten to one it is 5.5 of 60 for two workers.
  for (std::size_t worker = 0; worker < slowest; ++worker) BOOST_TEST(counts[worker] > 3 * counts[slowest]);
}

BOOST_AUTO_TEST_CASE(more_workers_than_batches_and_data_without_a_known_end) {
  for_each_division([](auto const& strategy) {
    auto model = compiled(strategy, SGD{.learning_rate = 0.02});
    auto const samples = test::mlp_samples<float>(50);
    Trained one;
    fit(strategy, model, samples.data().take(3).batch(GlobalBatch{4}), {.epochs = 2, .verbose = false}, one);
    BOOST_TEST(of_all(one.batches) == each_once(1, 2), boost::test_tools::per_element());

    auto const generated = data::from_generator({test::mlp_inputs}, {}, [] {
                             return [i = 0](std::span<float> x, std::span<std::int32_t> y) mutable {
                               if (i == 22) return false;
                               std::fill(x.begin(), x.end(), 0.1f * static_cast<float>(i));
                               y[0] = i++ % test::classes;
                               return true;
                             };
                           }).batch(GlobalBatch{4});
    Trained all, some;
    fit(strategy, model, generated.prefetch(2), {.epochs = 2, .verbose = false}, all);
    BOOST_TEST(of_all(all.batches) == each_once(6, 2), boost::test_tools::per_element());
    fit(strategy, model, generated.repeat(), {.epochs = 2, .steps_per_epoch = 7, .verbose = false}, some);
    BOOST_TEST(of_all(some.batches) == each_once(7, 2), boost::test_tools::per_element());
    Trained parts;  // 12 of the 13 batches, and the one that is left
    fit(strategy, model, samples.data().batch(GlobalBatch{4}), {.epochs = 6, .steps_per_epoch = 12, .verbose = false},
        parts);
    std::vector<std::size_t> twelve_and_one = each_once(12, 3);
    twelve_and_one.insert(twelve_and_one.end(), 3, 0);
    std::sort(twelve_and_one.begin(), twelve_and_one.end());
    BOOST_TEST(of_all(parts.batches) == twelve_and_one, boost::test_tools::per_element());
  });
}

BOOST_AUTO_TEST_CASE(generated_data_without_a_sample_or_with_too_few_batches_are_errors_of_all) {
  for_each_division([](auto const& strategy) {
    auto model = compiled(strategy, SGD{.learning_rate = 0.02});
    auto const says = [&](int samples, FitOptions options) {
      auto const generated = data::from_generator({test::mlp_inputs}, {}, [samples] {
                               return [i = 0, samples](std::span<float> x, std::span<std::int32_t> y) mutable {
                                 if (i == samples) return false;
                                 std::fill(x.begin(), x.end(), 0.1f);
                                 y[0] = i++ % test::classes;
                                 return true;
                               };
                             }).batch(GlobalBatch{4});
      return test::message_of<ValueError>([&] { fit(strategy, model, generated, options); });
    };
    BOOST_TEST(says(0, {.verbose = false}) == "the training data hold no sample");
    BOOST_TEST(says(22, {.steps_per_epoch = 9, .verbose = false}) ==
               "the training data ended after 6 batches, but steps_per_epoch = 9 needs 9: repeat() makes them go on");
  });
}

BOOST_AUTO_TEST_CASE(what_is_collective_is_refused_in_a_hook_of_a_batch) {
  for_each_division([](auto const& strategy) {
    auto model = compiled(strategy, SGD{.learning_rate = 0.02});
    std::string message;
    Trained trained;
    auto const all = test::mlp_samples<float>(50);
    fit(strategy, model, all.data().batch(GlobalBatch{4}), {.verbose = false}, Agree{&message}, trained);
    if (world().size() > 1)
      BOOST_TEST(message.starts_with("agree was called in a hook of a batch") == !trained.batches.empty());
  });
  ParameterServerStrategy<> const strategy(world());
  auto model = compiled(strategy, SGD{});
  auto const samples = test::mlp_samples<float>(world().is_chief() ? 8 : 0);
  auto const own = data::from_local_slices(strategy, samples.x, samples.y).batch(GlobalBatch{4});
  if (world().size() > 1) BOOST_CHECK_THROW(fit(strategy, model, own, {.verbose = false}), ValueError);
}

BOOST_AUTO_TEST_CASE(states_of_layers_are_moved_by_the_servers) {
  for_each_division([](auto const& strategy) {
    auto model = compile<double>(
        strategy, Sequential{Input<test::mlp_inputs>{}, BatchNormalization<>{.momentum = 0.5}, Dense<test::classes>{}},
        SGD{.learning_rate = 0.0}, SparseCategoricalCrossentropy{.from_logits = true}, CompileOptions{.seed = 5});
    // Every batch is the same, so that the mean goes half of the way to its own with each, in whatever order.
    auto const few = test::mlp_samples<double>(4);
    auto const data = few.data().repeat(6).batch(GlobalBatch{4});
    fit(strategy, model, data, {.verbose = false});
    if (!strategy.roles().is_replica(world().rank())) return;
    auto const mean = model.weights("batch_normalization/moving_mean");
    for (std::size_t j = 0; j < test::mlp_inputs; ++j) {
      double expected = 0;
      for (std::size_t i = 0; i < 4; ++i) expected += few.x(i, j) / 4;
      test::check_close(mean(j), expected * (1 - std::pow(0.5, 6)), 1e-12, "a moving mean");
    }
  });
}

/// A server that updates by the norm of all gradients waits for the other, whose message of weights is too large to go
/// before the chief takes it.
BOOST_AUTO_TEST_CASE(the_chief_saves_while_servers_wait_for_each_other) {
  if (world().size() < 4) return;
  ParameterServerStrategy<> const strategy(world(), {.servers = 2, .staleness = 8});
  constexpr std::size_t wide = 600;
  auto model =
      compile(strategy, Sequential{Input<wide>{}, Dense<wide, Tanh>{}, Dense<test::classes>{}},
              SGD{.learning_rate = 1e-3, .global_clipnorm = 1.0}, SparseCategoricalCrossentropy{.from_logits = true});
  auto const samples = test::make_samples<float>(60, {wide}, test::classes, 1);
  fit(strategy, model, samples.data().batch(GlobalBatch{1}), {.verbose = false},
      ModelCheckpoint<"loss">{.path = "parameter_server_wide.npz", .save_freq = 1});
  // Another worker has written none, and its messages name none.
  BOOST_TEST(detail::status().checkpoint().ends_with("parameter_server_wide.npz") == world().is_chief());
}

/// Asks another model of a layer in the first hook of each batch.
template <class Evaluate>
struct AsksAnother {
  Evaluate evaluate;
  std::size_t refused = 0;
  void on_train_batch_begin(auto&) {
    try {
      evaluate();
    } catch (ValueError const& error) {
      refused += std::string(error.what()).find("while") != std::string::npos;
    }
  }
};

BOOST_AUTO_TEST_CASE(a_model_of_a_shared_layer_is_saved_while_workers_go_their_own_pace_and_no_other_is_asked) {
  if (world().size() < 2) return;
  ParameterServerStrategy<> const strategy(world(), {.servers = 1, .staleness = 4});
  Shared layers{Sequential{Dense<5, Tanh>{}, Dense<test::classes>{}}};
  auto const make = [&] {
    return compile(strategy, Sequential{Input<test::mlp_inputs>{}, layers}, SGD{.learning_rate = 0.1},
                   SparseCategoricalCrossentropy{.from_logits = true});
  };
  auto model = make(), other = make();
  auto const samples = test::mlp_samples<float>(40);
  auto const data = samples.data().batch(GlobalBatch{4});
  AsksAnother asks{[&] { evaluate(strategy, other, data); }};
  fit(strategy, model, data, {.epochs = 2, .verbose = false}, asks,
      ModelCheckpoint<"loss">{.path = "parameter_server_shared.npz", .save_freq = 2});
  BOOST_TEST(world().allreduce_sum(asks.refused).value() == 20u);
  BOOST_TEST(evaluate(strategy, other, data).find("loss")->value() ==
             evaluate(strategy, model, data).find("loss")->value());
}

BOOST_AUTO_TEST_CASE(the_chief_saves_the_servers_weights_and_optimizer_after_so_many_updates) {
  for_each_division([](auto const& strategy) {
    auto const samples = test::mlp_samples<double>(240);
    auto model = compiled<double>(strategy, Adam{.learning_rate = 0.01});
    std::string const path = "parameter_server_saved.npz";
    fit(strategy, model, samples.data().batch(GlobalBatch{4}), {.epochs = 2, .verbose = false},
        ModelCheckpoint<"loss">{.path = path, .save_freq = 7}, ChiefFirst{});
    world().barrier();
    // What was saved is a state of the run: it can be trained on alone, from its own count of updates.
    OneDeviceStrategy<> const one;
    auto alone = compiled<double>(one, Adam{.learning_rate = 0.01});
    auto const untrained = evaluate(one, alone, samples.data().batch(GlobalBatch{60})).find("loss")->value();
    alone.load_weights(path);
    // It is saved in hooks of the chief's batches, and how many of all batches those are is not known.
    BOOST_TEST(alone.engine().iteration() >= 7u);
    BOOST_TEST(alone.engine().iteration() <= 120u);
    BOOST_TEST(evaluate(one, alone, samples.data().batch(GlobalBatch{60})).find("loss")->value() < untrained);
    // With a single worker nobody trains on while it is written.
    if (strategy.roles().workers == 1) {
      auto same = compiled<double>(one, Adam{.learning_rate = 0.01});
      std::string const own = "one_device_saved_" + std::to_string(world().rank()) + ".npz";  // of each process
      fit(one, same, samples.data().batch(GlobalBatch{4}), {.epochs = 2, .verbose = false},
          ModelCheckpoint<"loss">{.path = own, .save_freq = 7});
      same.load_weights(own);
      std::remove(own.c_str());
      BOOST_TEST(same.engine().iteration() == alone.engine().iteration());
      test::check_same_weights(alone, same, 1e-12);
      fit(one, same, samples.data().batch(GlobalBatch{4}), {.verbose = false});
      fit(one, alone, samples.data().batch(GlobalBatch{4}), {.verbose = false});
      test::check_same_weights(alone, same, 1e-12);
    }
    world().barrier();
    if (world().is_chief()) std::remove(path.c_str());
  });
}

BOOST_AUTO_TEST_CASE(a_step_on_a_batch_of_the_users_own_is_one_of_all_workers) {
  for_each_division([](auto const& strategy) {
    auto const samples = test::mlp_samples<double>(7);
    OneDeviceStrategy<> const one;
    auto expected = compiled<double>(one, Adam{});
    auto model = compiled<double>(strategy, Adam{});
    for (int step = 0; step < 3; ++step)
      test::check_same_logs(model.train_on_batch(samples.x, samples.y), expected.train_on_batch(samples.x, samples.y),
                            1e-12);
    auto const kernel = xt::xarray<double>(expected.weights("dense/kernel") * 0.5);
    expected.set_weights("dense/kernel", kernel);
    model.set_weights("dense/kernel", kernel);
    model.train_on_batch(samples.x, samples.y);
    expected.train_on_batch(samples.x, samples.y);
    if (strategy.roles().is_replica(world().rank()))
      test::check_same_weights(model, expected, 1e-12);
    else
      BOOST_CHECK_THROW(model.weights("dense/kernel"), ValueError);
  });
}
