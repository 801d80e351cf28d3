// ranks: 1 2 3 4
// Steps on a rank's own rows, and the weights of all brought together after each few of them.
#define BOOST_TEST_MODULE local_sgd
#include "support/kokkos_fixture.hpp"
#include "support/law_models.hpp"
#include "support/message_of.hpp"
#include "support/refusing_layer.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "trireme/callbacks/early_stopping.hpp"
#include "trireme/callbacks/lambda_callback.hpp"
#include "trireme/callbacks/snapshot.hpp"
#include "trireme/layers/batch_normalization.hpp"
#include "trireme/layers/embedding.hpp"
#include "trireme/losses/mean_squared_error.hpp"
#include "trireme/optimizers/adam.hpp"
#include "trireme/strategies/data_parallel/accumulate.hpp"
#include "trireme/strategies/data_parallel/compressed.hpp"
#include "trireme/strategies/data_parallel/local_sgd.hpp"
#include "trireme/strategies/data_parallel/multi_worker_mirrored.hpp"
#include "trireme/strategies/data_parallel/one_device.hpp"

using namespace trireme;

namespace {

using Whole = MultiWorkerMirroredStrategy<>;

Communicator const& world() { return test::environment().world(); }

/// Whatever a step divides by shows, and states that no optimizer moves.
auto model_of(auto const& strategy, auto const& optimizer) {
  return compile<double>(strategy,
                         Sequential{Input<test::mlp_inputs>{}, Dense<5, Tanh>{.kernel_regularizer = L2(0.1)},
                                    BatchNormalization<>{.momentum = 0.8}, Dense<test::classes>{}},
                         optimizer, SparseCategoricalCrossentropy{.from_logits = true, .ignore_class = 1}, Accuracy{},
                         CompileOptions{.seed = 4});
}

/// Rows of step `step` that each rank has of its own: 3, 4, 5, … The last of several ranks has none in step 1.
struct OwnRows {
  std::size_t rank, ranks, step;
  std::size_t rows() const { return ranks > 1 && rank + 1 == ranks && step == 1 ? 0 : 3 + rank; }
  std::size_t first() const { return step * per_step(ranks) + rank * (rank + 5) / 2; }
  static std::size_t per_step(std::size_t ranks) { return ranks * (ranks + 5) / 2; }
  Batch<double, std::int32_t> batch(test::Samples<double> const& samples, std::size_t global_rows) const {
    return {.x = samples.x.data() + first() * test::mlp_inputs,
            .y = samples.y.data() + first(),
            .rows = rows(),
            .first_row = first(),
            .global_rows = global_rows};
  }
};

constexpr std::size_t most_steps = 6;
test::Samples<double> all_samples() {
  return test::mlp_samples<double>(most_steps * OwnRows::per_step(world().size()));
}

void step_on_own_rows(auto& model, test::Samples<double> const& samples, std::size_t step) {
  std::size_t const ranks = world().size();
  model.engine().train_step(OwnRows{world().rank(), ranks, step}.batch(samples, OwnRows::per_step(ranks)));
}

/// Ranks by hand: each a device of its own, with the weights put in whenever they meet.
class ByHand {
 public:
  template <class Optimizer>
  explicit ByHand(Optimizer const& optimizer) : samples_(all_samples()) {
    for (std::size_t rank = 0; rank < world().size(); ++rank) models_.push_back(model_of(one_, optimizer));
  }
  void step(std::size_t step) {
    for (std::size_t rank = 0; rank < models_.size(); ++rank) {
      OwnRows const own{rank, models_.size(), step};
      auto& engine = models_[rank].engine();
      if (own.rows() > 0)
        engine.train_step(own.batch(samples_, own.rows()));
      else
        engine.optimizer().set_iteration(engine.iteration() + 1);  // the step is counted all the same
    }
  }
  std::vector<double> weights(std::size_t rank) const { return models_[rank].engine().weights().host_parameters(); }
  std::vector<double> mean() const {
    std::vector<double> sum = weights(0);
    for (std::size_t rank = 1; rank < models_.size(); ++rank)
      for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += weights(rank)[i];
    for (double& value : sum) value /= static_cast<double>(models_.size());
    return sum;
  }
  void set_all(std::vector<double> values) {
    for (auto& model : models_) model.engine().weights().set_parameters(values);
  }
  void set_each(std::size_t offset, std::vector<double> values) {
    for (auto& model : models_) model.engine().weights().set_values(offset, values);
  }
  /// Elements that train.
  std::size_t trained() const { return models_[0].engine().model().description().elements; }

 private:
  OneDeviceStrategy<> one_{};
  test::Samples<double> samples_;
  std::vector<decltype(model_of(OneDeviceStrategy<>(), Adam{}))> models_;
};

}  // namespace

BOOST_AUTO_TEST_CASE(weights_are_each_ranks_own_between_the_means_that_all_get_after_every_third_step) {
  auto const samples = all_samples();
  Adam const adam{.learning_rate = 0.03};
  ByHand expected(adam);
  auto model = model_of(LocalSGD<Whole, 3>(world()), adam);
  for (std::size_t step = 0; step < most_steps; ++step) {
    step_on_own_rows(model, samples, step);
    expected.step(step);
    if (step % 3 == 2) expected.set_all(expected.mean());
    BOOST_TEST_CONTEXT("after step " << step)
    BOOST_TEST(test::distance(model.engine().weights().host_parameters(), expected.weights(world().rank())) <= 1e-13);
  }
  test::check_equal_on_all(world(), model);
}

BOOST_AUTO_TEST_CASE(an_epoch_that_ends_between_two_means_ends_with_one) {
  auto const samples = all_samples();
  for (std::size_t steps : {1u, 2u, 3u, 4u}) {
    ByHand expected(Adam{.learning_rate = 0.03});
    auto model = model_of(LocalSGD<Whole, 3>(world()), Adam{.learning_rate = 0.03});
    for (std::size_t step = 0; step < steps; ++step) {
      step_on_own_rows(model, samples, step);
      expected.step(step);
      if (step == 2) expected.set_all(expected.mean());
    }
    model.engine().finish_epoch();
    BOOST_TEST(test::distance(model.engine().weights().host_parameters(), expected.mean()) <= 1e-13);
    test::check_equal_on_all(world(), model);
    model.engine().finish_epoch();  // nothing is left to bring together
    BOOST_TEST(test::distance(model.engine().weights().host_parameters(), expected.mean()) <= 1e-13);
  }
}

BOOST_AUTO_TEST_CASE(an_outer_optimizer_takes_the_mean_change_as_its_gradient_and_states_get_the_mean) {
  auto const samples = all_samples();
  Adam const adam{.learning_rate = 0.03};
  double const rate = 0.7, momentum = 0.9;
  ByHand expected(adam);
  LocalSGD<Whole, 2, SGD> const strategy(Whole(world()),
                                         SGD{.learning_rate = rate, .momentum = momentum, .nesterov = true});
  auto model = model_of(strategy, adam);
  std::vector<double> outer = expected.weights(0), velocity(outer.size(), 0);
  for (std::size_t step = 0; step < most_steps; ++step) {
    step_on_own_rows(model, samples, step);
    expected.step(step);
    if (step % 2 == 0) continue;
    std::vector<double> const mean = expected.mean();
    for (std::size_t i = 0; i < outer.size(); ++i) {
      if (i >= expected.trained()) {
        outer[i] = mean[i];
        continue;
      }
      double const gradient = outer[i] - mean[i];
      velocity[i] = momentum * velocity[i] - rate * gradient;
      outer[i] += momentum * velocity[i] - rate * gradient;
    }
    expected.set_all(outer);
    BOOST_TEST(test::distance(model.engine().weights().host_parameters(), outer) <= 1e-13);
  }
}

BOOST_AUTO_TEST_CASE(weights_set_within_a_period_are_no_change_that_the_outer_optimizer_takes) {
  auto const samples = all_samples();
  Adam const adam{.learning_rate = 0.03};
  double const rate = 0.7, momentum = 0.9;
  ByHand expected(adam);
  LocalSGD<Whole, 2, SGD> const strategy(Whole(world()), SGD{.learning_rate = rate, .momentum = momentum});
  auto model = model_of(strategy, adam);
  auto const& description = model.description();
  std::vector<double> outer = expected.weights(0), velocity(outer.size(), 0);
  for (std::size_t step = 0; step < most_steps; ++step) {
    step_on_own_rows(model, samples, step);
    expected.step(step);
    if (step % 2 == 0) {
      for (auto const& path : {"dense/kernel", "batch_normalization/moving_mean"}) {
        auto const values = xt::xarray<double>(model.weights(path) * 0 + 0.25 * static_cast<double>(step));
        model.set_weights(path, values);
        auto const& weight = detail::weight_named(description, path);
        expected.set_each(weight.offset, std::vector<double>(values.begin(), values.end()));
        std::copy(values.begin(), values.end(), outer.begin() + static_cast<std::ptrdiff_t>(weight.offset));
      }
      continue;
    }
    std::vector<double> const mean = expected.mean();
    for (std::size_t i = 0; i < outer.size(); ++i) {
      if (i < expected.trained()) {
        velocity[i] = momentum * velocity[i] - rate * (outer[i] - mean[i]);
        outer[i] += velocity[i];
      } else {
        outer[i] = mean[i];
      }
    }
    expected.set_all(outer);
    BOOST_TEST_CONTEXT("after step " << step)
    BOOST_TEST(test::distance(model.engine().weights().host_parameters(), outer) <= 1e-13);
  }
  test::check_equal_on_all(world(), model);
}

BOOST_AUTO_TEST_CASE(a_snapshot_restored_within_another_period_brings_back_the_change_that_it_had) {
  auto const samples = all_samples();
  LocalSGD<Whole, 2, SGD> const strategy(Whole(world()), SGD{.learning_rate = 0.7});
  auto const make = [&] { return model_of(strategy, SGD{.learning_rate = 0.03}); };
  auto model = make(), expected = make();
  step_on_own_rows(model, samples, 0);
  auto const kept = model.engine().weights().snapshot();
  for (std::size_t step = 1; step < 3; ++step) step_on_own_rows(model, samples, step);
  // As a checkpoint keeps it.
  auto stored = model.engine().weights().gather(kept);
  model.engine().weights().restore(model.engine().weights().scatter(stored));
  step_on_own_rows(model, samples, 3);
  for (std::size_t step : {0u, 3u}) step_on_own_rows(expected, samples, step);
  BOOST_TEST(model.engine().weights().host_parameters() == expected.engine().weights().host_parameters(),
             boost::test_tools::per_element());
  test::check_equal_on_all(world(), model);
}

BOOST_AUTO_TEST_CASE(a_snapshot_from_within_a_period_restored_where_one_begins_keeps_its_change) {
  auto const samples = all_samples();
  LocalSGD<Whole, 2, SGD> const strategy(Whole(world()), SGD{.learning_rate = 0.7, .momentum = 0.5});
  auto model = model_of(strategy, SGD{.learning_rate = 0.03});
  step_on_own_rows(model, samples, 0);
  auto const within = model.engine().weights().snapshot();
  step_on_own_rows(model, samples, 1);
  model.engine().weights().restore(within);
  for (std::size_t step = 2; step < 4; ++step) step_on_own_rows(model, samples, step);
  test::check_equal_on_all(world(), model);
  // One from between two periods brings nothing to take: the outer optimizer's momentum moves no weight.
  std::vector<double> const expected = model.engine().weights().host_parameters();
  model.engine().weights().restore(model.engine().weights().snapshot());
  model.engine().finish_epoch();
  BOOST_TEST(model.engine().weights().host_parameters() == expected, boost::test_tools::per_element());
  // At the end of an epoch the weights come together too.
  model.engine().weights().restore(within);
  model.engine().finish_epoch();
  test::check_equal_on_all(world(), model);
}

/// A model within operators, whose optimizer steps in backward, with a layer that may throw behind its last one.
auto refusing_model(auto const& strategy, auto const& optimizer) {
  return compile<double>(
      strategy, Sequential{Input<test::mlp_inputs>{}, Dense<5, Tanh>{}, test::Refusing{}, Dense<test::classes>{}},
      optimizer, SparseCategoricalCrossentropy{.from_logits = true},
      CompileOptions{.seed = 4, .parallelism = Parallelism::intra_op});
}

void check_refused(auto& model, test::Samples<double> const& samples, std::size_t step) {
  test::refuses = test::Refuses::backward;
  BOOST_TEST(test::message_of<ValueError>([&] { step_on_own_rows(model, samples, step); }) == test::Refusing::message);
  test::refuses = test::Refuses::never;
}

/// The mean over the ranks of the weights that each has.
std::vector<double> mean_of_ranks(auto const& model) {
  auto values = model.engine().weights().host_parameters();
  world().allreduce_sum(values);
  for (double& value : values) value /= static_cast<double>(world().size());
  return values;
}

BOOST_AUTO_TEST_CASE(after_an_error_of_a_layer_in_any_step_of_a_period_all_ranks_get_the_mean) {
  auto const samples = all_samples();
  for (std::size_t before : {0u, 1u, 2u, 3u}) {
    auto model = refusing_model(LocalSGD<Whole, 3>(world()), SGD{.learning_rate = 0.3});
    for (std::size_t step = 0; step < before; ++step) step_on_own_rows(model, samples, step);
    check_refused(model, samples, 4);  // with vectors of AVX2 or more the last layer has stepped
    BOOST_TEST(model.engine().iteration() == before);
    step_on_own_rows(model, samples, 5);
    auto const expected = mean_of_ranks(model);
    model.engine().finish_epoch();
    BOOST_TEST(test::distance(model.engine().weights().host_parameters(), expected) <= 1e-13);
    test::check_equal_on_all(world(), model);
    // An epoch that ends with the error.
    check_refused(model, samples, 0);
    auto const left = mean_of_ranks(model);
    model.engine().finish_epoch();
    BOOST_TEST(test::distance(model.engine().weights().host_parameters(), left) <= 1e-13);
    test::check_equal_on_all(world(), model);
  }
}

BOOST_AUTO_TEST_CASE(a_restored_change_outlasts_an_error_of_a_layer) {
  auto const samples = all_samples();
  LocalSGD<Whole, 2, SGD> const strategy(Whole(world()), SGD{.learning_rate = 0.7, .momentum = 0.5});
  auto model = refusing_model(strategy, SGD{.learning_rate = 0.1});
  step_on_own_rows(model, samples, 0);
  auto const within = model.engine().weights().snapshot();
  step_on_own_rows(model, samples, 1);
  model.engine().weights().restore(within);
  check_refused(model, samples, 2);
  for (std::size_t step = 2; step < 4; ++step) step_on_own_rows(model, samples, step);
  test::check_equal_on_all(world(), model);
}

BOOST_AUTO_TEST_CASE(weights_written_after_restored_ones_that_all_have_alike_are_those_of_all) {
  LocalSGD<Whole, 2, SGD> const strategy(Whole(world()), SGD{.learning_rate = 0.7});
  auto model =
      compile<double>(strategy, Sequential{Input<test::mlp_inputs>{}, Dense<test::classes>{}}, SGD{.learning_rate = 0},
                      SparseCategoricalCrossentropy{.from_logits = true}, CompileOptions{.seed = 4});
  auto const samples = test::mlp_samples<double>(4 * world().size());
  auto const data = samples.data().batch(GlobalBatch{2 * world().size()});
  fit(strategy, model, data, {.epochs = 1, .verbose = false}, EarlyStopping<"loss">{.restore_best_weights = true});
  auto const train = [&] { fit(strategy, model, data, {.epochs = 1, .verbose = false}); };
  auto kernel = model.weights_view("dense/kernel");
  auto const check_kernel = [&](double value) {
    for (double const weight : model.weights("dense/kernel")) test::check_close(weight, value, 1e-13, "a weight");
  };
  std::fill(kernel.begin(), kernel.end(), 100);
  train();
  check_kernel(100);
  // A snapshot whose weights were written since the last mean, restored where an epoch ends within a period.
  std::fill(kernel.begin(), kernel.end(), 50);
  auto const between = model.engine().weights().snapshot();
  step_on_own_rows(model, all_samples(), 0);
  model.engine().weights().restore(between);
  model.engine().finish_epoch();
  check_kernel(50);
}

BOOST_AUTO_TEST_CASE(weights_written_after_a_restored_change_are_a_change_also_of_ranks_that_had_none) {
  auto const samples = all_samples();
  LocalSGD<Whole, 2, SGD> const strategy(Whole(world()), SGD{.learning_rate = 0.7});
  auto model = model_of(strategy, SGD{.learning_rate = 0.1});
  step_on_own_rows(model, samples, 1);  // the last rank has no rows
  auto const within = model.engine().weights().snapshot();
  step_on_own_rows(model, samples, 2);
  model.engine().weights().restore(within);
  auto kernel = model.weights_view("dense/kernel");
  std::fill(kernel.begin(), kernel.end(), 2);
  for (std::size_t step = 3; step < 5; ++step) step_on_own_rows(model, samples, step);
  test::check_equal_on_all(world(), model);
}

BOOST_AUTO_TEST_CASE(with_a_mean_after_each_step_of_plain_sgd_over_even_shares_it_is_the_step_of_the_whole_batch) {
  std::size_t const rows = 4, batch = rows * world().size();
  auto const samples = test::mlp_samples<double>(3 * batch);
  auto const run = [&](auto const& strategy) {
    auto model =
        compile<double>(strategy, Sequential{Input<test::mlp_inputs>{}, Dense<5, Tanh>{}, Dense<test::classes>{}},
                        SGD{.learning_rate = 0.1}, SparseCategoricalCrossentropy{.from_logits = true}, Accuracy{},
                        CompileOptions{.seed = 4});
    auto const history =
        fit(strategy, model, samples.data().batch(GlobalBatch{batch}), {.epochs = 2, .verbose = false});
    return std::pair(model.engine().weights().host_parameters(), history["loss"].front());
  };
  auto const [weights, loss] = run(LocalSGD<Whole, 1>(world()));
  auto const [expected, expected_loss] = run(OneDeviceStrategy<>());
  BOOST_TEST(test::distance(weights, expected) <= 1e-13);
  test::check_close(loss, expected_loss, 1e-13, "the loss of the first epoch");
}

BOOST_AUTO_TEST_CASE(pieces_of_a_step_are_the_step) {
  auto const samples = all_samples();
  auto const run = [&](auto const& strategy) {
    // Statistics would be those of a piece.
    auto model = compile<double>(
        strategy,
        Sequential{Input<test::mlp_inputs>{}, Dense<5, Tanh>{.kernel_regularizer = L2(0.1)}, Dense<test::classes>{}},
        Adam{.learning_rate = 0.03}, SparseCategoricalCrossentropy{.from_logits = true, .ignore_class = 1}, Accuracy{},
        CompileOptions{.seed = 4});
    for (std::size_t step = 0; step < 5; ++step) step_on_own_rows(model, samples, step);
    return model.engine().weights().host_parameters();
  };
  BOOST_TEST(test::distance(run(Accumulate<LocalSGD<Whole, 2>, 2>(world())), run(LocalSGD<Whole, 2>(world()))) <=
             1e-13);
}

BOOST_AUTO_TEST_CASE(a_piece_without_rows_adds_nothing) {
  std::size_t const ranks = world().size();
  auto const samples = test::mlp_samples<double>(6 * ranks);
  auto const run = [&](auto const& strategy) {
    auto model = model_of(strategy, Adam{.learning_rate = 0.03});
    fit(strategy, model, samples.data().batch(GlobalBatch{ranks}), {.epochs = 1, .verbose = false});
    return model.engine().weights().host_parameters();
  };
  BOOST_TEST(run(Accumulate<LocalSGD<Whole, 2>, 2>(world())) == run(LocalSGD<Whole, 2>(world())),
             boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(compressed_changes_are_near_the_means_and_what_they_leave_out_is_kept) {
  auto const samples = all_samples();
  Adam const adam{.learning_rate = 0.03};
  using Short = Compressed<Whole, BFloat16>;
  auto plain = model_of(LocalSGD<Whole, 2>(world()), adam);
  auto model = model_of(LocalSGD<Short, 2>(world()), adam);
  for (std::size_t step = 0; step < 2; ++step) {
    step_on_own_rows(plain, samples, step);
    step_on_own_rows(model, samples, step);
  }
  double const apart =
      test::distance(model.engine().weights().host_parameters(), plain.engine().weights().host_parameters());
  BOOST_TEST(apart <= 0.03 * 2 / 256);  // a change is 2 * 0.03 at most, of which 8 bits travel
  test::check_equal_on_all(world(), model);
  auto& changes = model.engine().synchronization().changes();
  double left_out = 0;
  for (double value : changes.residual()) left_out += value * value;
  BOOST_TEST((left_out > 0) == (world().size() > 1));
  BOOST_TEST((changes.bytes_sent() > 0) == (world().size() > 1));
}

BOOST_AUTO_TEST_CASE(tables_of_which_a_step_touches_some_rows_are_brought_together_whole) {
  std::size_t const ranks = world().size(), steps = 4;
  std::vector<double> x(2 * ranks * steps * 3), y(2 * ranks * steps);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<double>((7 * i + i / 3) % 11);
  for (std::size_t i = 0; i < y.size(); ++i) y[i] = static_cast<double>(i % 5);
  auto const lookups = [&](auto const& strategy) {
    return compile<double>(strategy, Sequential{Input<3>{}, Embedding<11, 4>{}, Flatten{}, Dense<1>{}},
                           SGD{.learning_rate = 0.05}, MeanSquaredError{}, CompileOptions{.seed = 4});
  };
  auto const take = [&](auto& model, std::size_t step, std::size_t rank, std::size_t global_rows) {
    std::size_t const first = 2 * (step * ranks + rank);
    model.engine().train_step(
        {.x = x.data() + 3 * first, .y = y.data() + first, .rows = 2, .first_row = first, .global_rows = global_rows});
  };
  OneDeviceStrategy<> const one;
  auto model = lookups(LocalSGD<Whole, 2>(world()));
  std::vector<decltype(lookups(one))> alone;
  for (std::size_t rank = 0; rank < ranks; ++rank) alone.push_back(lookups(one));
  for (std::size_t step = 0; step < steps; ++step) {
    take(model, step, world().rank(), 2 * ranks);
    for (std::size_t rank = 0; rank < ranks; ++rank) take(alone[rank], step, rank, 2);
    if (step % 2 == 0) continue;
    std::vector<double> mean = alone[0].engine().weights().host_parameters();
    for (std::size_t rank = 1; rank < ranks; ++rank) {
      auto const other = alone[rank].engine().weights().host_parameters();
      for (std::size_t i = 0; i < mean.size(); ++i) mean[i] += other[i];
    }
    for (double& value : mean) value /= static_cast<double>(ranks);
    for (auto& each : alone) each.engine().weights().set_parameters(mean);
    BOOST_TEST(test::distance(model.engine().weights().host_parameters(), mean) <= 1e-13);
  }
}

BOOST_AUTO_TEST_CASE(training_on_uneven_data_ends_with_the_same_weights_on_all_ranks_and_learns) {
  auto const samples = test::mlp_samples<double>(61);
  LocalSGD<Whole, 4> const strategy(world());
  auto model = model_of(strategy, Adam{.learning_rate = 0.03});
  auto const history =
      fit(strategy, model, samples.data().shuffle(61, 2).batch(GlobalBatch{2}), {.epochs = 3, .verbose = false});
  test::check_equal_on_all(world(), model);
  BOOST_TEST(history["loss"].back() < history["loss"].front());
}

BOOST_AUTO_TEST_CASE(ranks_get_the_mean_of_weights_that_were_restored_at_the_end_of_training) {
  auto const samples = test::mlp_samples<double>(61);
  LocalSGD<Whole, 3> const strategy(world());
  for (bool const at_train_end : {false, true}) {
    auto model = model_of(strategy, Adam{.learning_rate = 0.03});
    Snapshot snapshot;  // from between two means
    std::vector<double> own;
    fit(strategy, model, samples.data().batch(GlobalBatch{8}), {.epochs = 2, .verbose = false},
        LambdaCallback{.on_train_batch_end =
                           [&](auto& run) {
                             if (run.step() != 2) return;
                             snapshot.take(run);
                             own = model.engine().weights().host_parameters();
                           },
                       .on_epoch_end =
                           [&](auto& run) {
                             if (!at_train_end && run.epoch() == 1) snapshot.restore_to(run);
                           },
                       .on_train_end =
                           [&](auto& run) {
                             if (at_train_end) snapshot.restore_to(run);
                           }});
    test::check_equal_on_all(world(), model);
    world().allreduce_sum(own);
    for (double& weight : own) weight /= static_cast<double>(world().size());
    BOOST_TEST(test::distance(model.engine().weights().host_parameters(), own) <= 1e-13);
  }
}

BOOST_AUTO_TEST_CASE(one_process_may_take_an_outer_optimizer_too) {
  auto const samples = all_samples();
  LocalSGD<OneDeviceStrategy<>, 2, SGD> const strategy(OneDeviceStrategy<>(), SGD{.learning_rate = 0.5});
  auto model = model_of(strategy, Adam{.learning_rate = 0.03});
  auto plain = model_of(OneDeviceStrategy<>(), Adam{.learning_rate = 0.03});
  std::vector<double> const before = plain.engine().weights().host_parameters();
  std::size_t const rows = OwnRows::per_step(world().size());
  Batch<double, std::int32_t> const batch{
      .x = samples.x.data(), .y = samples.y.data(), .rows = rows, .global_rows = rows};
  for (std::size_t step = 0; step < 2; ++step) {
    model.engine().train_step(batch);
    plain.engine().train_step(batch);
  }
  auto expected = plain.engine().weights().host_parameters();
  for (std::size_t i = 0; i < plain.engine().model().description().elements; ++i)
    expected[i] = before[i] + 0.5 * (expected[i] - before[i]);
  BOOST_TEST(test::distance(model.engine().weights().host_parameters(), expected) <= 1e-13);
}
